# frozen_string_literal: true

# The style gate of the project (bin/check): rules as objects, each given a tree of files and
# answering with what breaks it. test/check proves that each rule can fail and that this tree keeps
# the rules.

require_relative "style/tree"
require_relative "style/text_rules"
require_relative "style/module_graph"
require_relative "style/folder_rules"
require_relative "style/source_list"
require_relative "style/machine_names"
require_relative "style/tool_rules"
require_relative "style/gate"
