# frozen_string_literal: true

Gems.use "semantic_logger" do
  requires "semantic_logger"
  setup { SemanticLogger.sync! && LOG = SemanticLogger["gems"] }
  answer do |id|
    SemanticLogger.tagged(id) do
      SemanticLogger.named_tagged(id: id) do
        Hunt.nap && LOG.info("x") && [SemanticLogger.tags, SemanticLogger.named_tags]
      end
    end
  end
end
