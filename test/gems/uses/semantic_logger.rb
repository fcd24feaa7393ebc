# frozen_string_literal: true

Gems.use "semantic_logger" do
  requires "semantic_logger"
  setup { SemanticLogger.sync! && LOG = SemanticLogger["gems"] }
  answer { |id| SemanticLogger.tagged(id) { SemanticLogger.named_tagged(id: id) { Hunt.nap && LOG.info("x") && [SemanticLogger.tags, SemanticLogger.named_tags] } } }
end
