# frozen_string_literal: true

# What the files beside this one are made with: methods of a gem that compute or wait in C, without Ruby's lock, for as long as they take. In a fiber of our loop each is made by
# a thread where it is not quick (Blockers.at_call_site); elsewhere it is as it was.

require "neverblock/blockers/calls"

module NeverBlock
  module Blockers
    # name: of the gem; versions: that were read or tried; owner: the constant that has the methods; singleton: whether they are the class's own; names: methods.
    Gem = Struct.new(:name, :versions, :owner, :singleton, :names, keyword_init: true) do
      # Puts it in place once, when the gem is loaded in such a version.
      # @return [Boolean] whether it is in place
      def apply
        return true if @applied
        return false unless Object.const_defined?(owner) && known_version?

        @applied = true
        target = Object.const_get(owner)
        target = target.singleton_class if singleton
        target.prepend(Blockers.around(names.select { |method| target.method_defined?(method) || target.private_method_defined?(method) }))
        true
      end

      # @param version [Gem::Version]
      # @return [Boolean]
      def for?(version)
        ::Gem::Requirement.new(*versions).satisfied_by?(version)
      end

      private

      # Without a gem's specification nobody knows what it is.
      def known_version?
        spec = ::Gem.loaded_specs[name]
        !spec.nil? && for?(spec.version)
      end
    end

    @gems = []

    class << self
      # @return [Array<Gem>]
      attr_reader :gems

      # @param name [String] of the gem
      # @param versions [Array<String>]
      # @param owner [String] constant
      # @param names [Array<Symbol>] its methods; those that a version does not have are left out
      # @param singleton [Boolean]
      # @return [Gem]
      def gem(name, *versions, owner:, names:, singleton: false)
        Gem.new(name: name, versions: versions, owner: owner, singleton: singleton, names: names).tap { |made| @gems << made }
      end

      # @return [void]
      def apply
        @gems.each(&:apply)
      end

      # Makes a module of wrappers, to be prepended.
      # @param names [Array<Symbol>] methods
      # @param options [Boolean] whether they take keywords
      # @return [Module]
      def around(names, options: true)
        parameters = options ? "*arguments, **options, &block" : "*arguments"
        code = names.map { |name| "def #{name}(#{parameters}) = NeverBlock::Compat.scheduler ? NeverBlock::Blockers.at_call_site { super } : super\n" }
        Module.new { module_eval(code.join, __FILE__, __LINE__ - 1) }
      end
    end
  end
end
