# frozen_string_literal: true

Gems.use "sassc" do
  requires "sassc"
  setup do
    module SassC::Script::Functions
      def hunted(text) = Hunt.nap && SassC::Script::Value::String.new("#{text.value}-x")
    end
  end
  answer do |id|
    SassC::Engine.new("$w: 2px; .#{id} { a { width: $w * 2; content: hunted(#{id}); } }",
                      style: :compressed).render
  end
end
