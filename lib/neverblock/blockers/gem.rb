# frozen_string_literal: true

# Wraps methods of a gem that compute or wait in C, without Ruby's lock, for a long time. In a fiber
# of our loop a thread makes those calls where they are not quick (Blockers.at_call_site).
# Elsewhere they are unchanged. The files beside this one use it.

require "neverblock/blockers/calls"

module NeverBlock
  module Blockers
    # A gem and its methods.
    # - versions: requirements that were read or tried;
    # - owner: the constant that has the methods;
    # - singleton: whether they are the constant's own;
    # - names: of the methods.
    Gem = Struct.new(:name, :versions, :owner, :singleton, :names, keyword_init: true) do
      # Installs the wrappers once, when the gem is loaded in such a version.
      # @return [Boolean] whether they are installed
      def apply
        return true if @applied
        return false unless Object.const_defined?(owner) && known_version?

        @applied = true
        target = Object.const_get(owner)
        target = target.singleton_class if singleton
        found = names.select do |method|
          target.method_defined?(method) || target.private_method_defined?(method)
        end
        target.prepend(Blockers.around(found))
        true
      end

      # @param version [Gem::Version]
      # @return [Boolean] whether the version was read or tried
      def for?(version)
        ::Gem::Requirement.new(*versions).satisfied_by?(version)
      end

      private

      # Without a specification of the gem its version is unknown.
      def known_version?
        spec = ::Gem.loaded_specs[name]
        !spec.nil? && for?(spec.version)
      end
    end

    @gems = []

    class << self
      # @return [Array<Gem>]
      attr_reader :gems

      # Adds a gem.
      # @param name [String] of the gem
      # @param versions [Array<String>] requirements
      # @param owner [String] name of a constant
      # @param names [Array<Symbol>] its methods; those that a version lacks are left out
      # @param singleton [Boolean] whether they are the constant's own; default false
      def gem(name, *versions, owner:, names:, singleton: false)
        made = Gem.new(name: name, versions: versions, owner: owner,
                       singleton: singleton, names: names)
        @gems << made
        made
      end

      # Installs the wrappers of all gems that are loaded.
      def apply
        @gems.each(&:apply)
      end

      # Makes a module of wrappers, which is to be prepended.
      # @param names [Array<Symbol>] methods
      # @param options [Boolean] whether they take keywords
      # @return [Module]
      def around(names, options: true)
        parameters = options ? "*arguments, **options, &block" : "*arguments"
        code = names.map do |name|
          "def #{name}(#{parameters}) = NeverBlock::Compat.scheduler ? " \
            "NeverBlock::Blockers.at_call_site { super } : super\n"
        end
        Module.new { module_eval(code.join, __FILE__, __LINE__ - 3) }
      end
    end
  end
end
