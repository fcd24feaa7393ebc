# frozen_string_literal: true

require "rubygems"

module HookTable
  # One way to wait, and what this table says of it on each Ruby.
  class Row
    # An excuse is Ruby's own and says where that can be read.
    REFERENCE = /(Bug|Feature|Misc) #\d+|\w+\/\w+#\d+|\b\w+\.(c|h|rb)\b/

    attr_reader :library, :name, :variant, :body, :file, :also

    # @param also [Array<String>] other names of the same method, for the completeness check
    # @param since [String] the first Ruby that has it
    # @param until [String] the first Ruby that has it no longer
    # @param blocks [String, Hash{String => String}] why it blocks the thread: for every Ruby, or by
    #   requirement ("< 3.2"), with a reference
    # @param cured [Hash{String => String}] by requirement: the file of lib/neverblock/compat that
    #   makes it yield there
    def initialize(library, name, variant, file:, body:, also: [], since: nil, until: nil,
                   blocks: {}, cured: {})
      @library = library
      @name = name
      @variant = variant
      @file = file
      @body = body
      @also = Array(also)
      @since = since
      @until = binding.local_variable_get(:until)
      @blocks = blocks.is_a?(Hash) ? blocks : { ">= 0" => blocks }
      @cured = cured
      check
    end

    def title
      variant ? "#{name} (#{variant})" : name
    end

    def key
      [library, title]
    end

    # @return [Boolean] whether this Ruby has it
    def present?(ruby = RUBY_VERSION)
      !(@since && version(ruby) < version(@since)) && !(@until && version(ruby) >= version(@until))
    end

    def absence
      @until && present?(@since || "0") && !@since ? "until #{@until}" : "since #{@since}"
    end

    # @return [String, nil] why it blocks on this Ruby
    def excuse(ruby = RUBY_VERSION)
      pick(@blocks, ruby)
    end

    # @return [String, nil] the file of compat/ that it yields by
    def cure(ruby = RUBY_VERSION)
      pick(@cured, ruby)
    end

    private

    def pick(choices, ruby)
      found = choices.find do |requirement, _|
        Gem::Requirement.new(requirement.split(",").map(&:strip)).satisfied_by?(version(ruby))
      end
      found&.last
    end

    def version(ruby)
      Gem::Version.new(ruby)
    end

    def check
      raise ArgumentError, "#{title} has no body" unless body

      @blocks.each_value do |reason|
        next if REFERENCE.match?(reason)

        raise ArgumentError, "#{title}: where can it be read? #{reason.inspect}"
      end
      @cured.each_value do |cure|
        unless File.exist?(File.join(ROOT, "lib/neverblock/compat/#{cure}.rb"))
          raise ArgumentError, "#{title}: no compat/#{cure}.rb"
        end
      end
    end
  end
end
