# frozen_string_literal: true

require "test_helper"
require "rbs"
require "neverblock/algorithms"
require "neverblock/check"
require "neverblock/cli/commands"
require "neverblock/cluster/front"
require "neverblock/config/environment"
require "neverblock/config/settings"
require "neverblock/config/user_file"
require "neverblock/legacy"
require "neverblock/log"
require "neverblock/rack/layers"
require "neverblock/server/lane_rules"
require "neverblock/server/pid_file"
require "neverblock/server/runner"

# sig/ is the API reference: what it declares is there, with the parameters that it says.
class SigTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  WORDS_MAX = 25

  # Files that only users of another library load, which is not there or changes this process.
  ELSEWHERE = %w[sig/mysqlplus.rbs sig/neverblock/rails.rbs sig/neverblock/db.rbs
                 sig/neverblock/sequel.rbs sig/neverblock/rack/handler.rbs].freeze

  # What some Rubies do not have (lib/neverblock/scheduler.rb).
  BY_VERSION = %w[NeverBlock::Scheduler#io_write NeverBlock::Scheduler#blocking_operation_wait
                  NeverBlock::Scheduler#at_once].freeze

  # Classes that users and other gems call: all of their methods are public API.
  WHOLE = %w[Algorithms Cancelled Channel Config Config::Bind Config::Route Deadline
             Downloads::Report EarlyHints Engine ErrorStream Executor FiberPool Hijack Link Log
             NoInput Pool::FiberedConnectionPool Pool::Gauge Server Stream TLSContext]
          .map { |name| "NeverBlock::#{name}" }.freeze

  Declared = Struct.new(:path, :owner, :method, :functions)

  def self.declared
    @declared ||= Dir.glob("sig/**/*.rbs", base: ROOT).sort.flat_map do |file|
      next [] if ELSEWHERE.include?(file)

      RBS::Parser.parse_signature(File.read(File.join(ROOT, file))).last.flat_map do |found|
        in_space(found, [])
      end
    end
  end

  def self.in_space(found, around)
    return [] unless found.is_a?(RBS::AST::Declarations::Class) ||
                     found.is_a?(RBS::AST::Declarations::Module)

    names = around + [found.name.to_s.delete_prefix("::")]
    found.members.flat_map do |member|
      case member
      when RBS::AST::Declarations::Base then in_space(member, names)
      when RBS::AST::Members::MethodDefinition
        functions = member.overloads.map { |overload| overload.method_type.type }
        [of(names, member.kind, member.name, functions)]
      when RBS::AST::Members::Attribute then attributes(member, names)
      when RBS::AST::Members::Alias then [of(names, member.kind, member.new_name, [])]
      else []
      end
    end
  end

  def self.attributes(member, names)
    writer = member.is_a?(RBS::AST::Members::AttrReader) ? [] : [:"#{member.name}="]
    reader = member.is_a?(RBS::AST::Members::AttrWriter) ? [] : [member.name]
    (reader + writer).map { |name| of(names, member.kind, name, []) }
  end

  def self.of(names, kind, name, functions)
    path = names.join("::")
    mark = kind == :instance ? "#" : "."
    Declared.new("#{path}#{mark}#{name}", path, name, functions)
  end

  def test_each_declared_method_is_there
    missing = self.class.declared.reject { |one| implementation(one) }.map(&:path)
    assert_empty missing - BY_VERSION
  end

  def test_declared_parameters_are_those_of_the_method
    wrong = self.class.declared.flat_map do |one|
      method = implementation(one)
      next [] unless method

      one.functions.reject { |function| fits?(function, method) }
         .map { |function| "#{one.path} #{function.param_to_s}: #{method.parameters.inspect}" }
    end
    assert_empty wrong
  end

  def test_classes_that_users_call_are_declared_whole
    WHOLE.each do |name|
      space = Object.const_get(name)
      { "." => space.singleton_class, "#" => space }.each do |mark, owner|
        there = owner.public_instance_methods(false).map { |method| "#{name}#{mark}#{method}" }
        assert_empty there - self.class.declared.map(&:path), "in #{name}"
      end
    end
  end

  def test_sentences_are_short
    long = Dir.glob("sig/**/*.rbs", base: ROOT).sort.flat_map do |file|
      comments = File.read(File.join(ROOT, file)).scan(/(?:^ *#.*\n)+/)
      comments.flat_map { |comment| sentences(comment) }
              .select { |sentence| sentence.split.size > WORDS_MAX }
              .map { |sentence| "#{file}: #{sentence}" }
    end
    assert_empty long
  end

  private

  def implementation(declared)
    space = Object.const_get(declared.owner)
    owner = declared.path.include?("#") ? space : space.singleton_class
    owner.instance_method(declared.method) if
      owner.method_defined?(declared.method) || owner.private_method_defined?(declared.method)
  end

  # A method in C tells only how many arguments it takes; with optional ones it tells nothing.
  def fits?(function, method)
    parameters = method.parameters.reject { |kind, _| kind == :block }
    kinds = parameters.map(&:first)
    return true if kinds == [:rest]

    required = function.required_positionals.size + function.trailing_positionals.size
    required == kinds.count(:req) && function.optional_positionals.size == kinds.count(:opt) &&
      (kinds.include?(:rest) || function.rest_positionals.nil?) &&
      keywords_fit?(function, parameters)
  end

  def keywords_fit?(function, parameters)
    named = ->(kind) { parameters.select { |found, _| found == kind }.map(&:last).sort }
    named.call(:keyreq) == function.required_keywords.keys.sort &&
      named.call(:key) == function.optional_keywords.keys.sort
  end

  def sentences(comment)
    comment.lines.map { |line| line.strip.delete_prefix("#").strip }.join(" ")
           .split(/(?<=[.!?])\s+/)
  end
end
