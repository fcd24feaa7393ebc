# frozen_string_literal: true

require "rbs"
require "yard"

# The public API: what sig/ declares. The sentence of a constant, a method or an attribute is the
# comment above its definition in lib/, else above its declaration; that of a class is above its
# declaration, else above its definition.
class Api
  # @!attribute space [String] the class or module that it is in
  # @!attribute path [String] as YARD writes it
  Member = Struct.new(:space, :name, :path, :type, :sentence, :tags)

  # @param root [String] the project's folder
  def initialize(root)
    YARD::Logger.instance.level = YARD::Logger::ERROR
    YARD::Registry.clear
    Dir.chdir(root) { YARD.parse(["lib/**/*.rb"]) }
    @sentences = {}
    @found = []
    @twice = []
    # The file of the whole gem comes first: a module is reopened by many.
    paths = Dir[File.join(root, "sig/**/*.rbs")].sort_by { |path| [path.count("/"), path] }
    paths.each { |path| read(path) }
    @sentences.each { |name, said| @sentences[name] = of_definition(name) if said.empty? }
  end

  # @return [Array<Member>] constants, methods and attributes
  def members = @found

  # @param name [String] of a class or module
  # @return [String] empty where nothing is said
  def sentence_of(name) = @sentences[name].to_s

  # @param tag [YARD::Tags::Tag]
  # @return [Boolean] whether the member's sentence says what the tag does
  def self.said?(member, tag)
    member.sentence.casecmp?("#{tag.text.to_s.strip.delete_suffix(".")}.")
  end

  # @return [Array<String>] what has no sentence
  def undocumented
    @found.select { |member| member.sentence.empty? }.map(&:path) + @sentences.select { |_, text|
      text.empty?
    }.keys
  end

  # @return [Array<String>] what has a sentence in both places, of which one is never shown
  attr_reader :twice

  private

  def read(path)
    RBS::Parser.parse_signature(File.read(path)).last.each { |declaration| space(declaration, []) }
  end

  def space(declaration, around)
    case declaration
    when RBS::AST::Declarations::Class, RBS::AST::Declarations::Module
      names = around + [declaration.name.to_s.delete_prefix("::")]
      name = names.join("::")
      @sentences[name] = declaration.comment&.string.to_s.strip if @sentences[name].to_s.empty?
      declaration.members.each { |member| take(member, names) }
    when RBS::AST::Declarations::Constant
      add(declaration, around, declaration.name.to_s, "::", declaration.type)
    end
  end

  def take(member, names)
    case member
    when RBS::AST::Declarations::Base then space(member, names)
    when RBS::AST::Members::MethodDefinition
      method(member, names) unless member.visibility == :private
    when RBS::AST::Members::Attribute
      add(member, names, member.name.to_s, member.kind == :instance ? "#" : ".",
          member.type) unless member.visibility == :private
    end
  end

  def method(member, names)
    types = member.overloads.map { |overload| overload.method_type.to_s }
    add(member, names, member.name.to_s, member.kind == :instance ? "#" : ".", types.join(" | "))
  end

  def add(declaration, names, name, mark, type)
    path = "#{names.join("::")}#{mark}#{name}".delete_prefix("::")
    object = object(path)
    shown = { "." => "#{names.last}.#{name}", "#" => "##{name}" }.fetch(mark, name)
    @found << Member.new(names.join("::"), shown, path, type.to_s, sentence(declaration, object),
                         object&.tags.to_a)
  end

  def of_definition(name) = YARD::Registry.at(name)&.docstring.to_s.strip

  def object(path)
    ["", "#initialize"].each do |constructor|
      found = YARD::Registry.at(constructor.empty? ? path : path.sub(/\.new\z/, constructor))
      return found if found && !found.docstring.blank?(false)
    end
    nil
  end

  # What YARD says of a Struct's member by itself.
  OF_MEMBER = /\AReturns the value of attribute /.freeze
  private_constant :OF_MEMBER

  def sentence(declaration, object)
    above = object&.docstring.to_s.strip
    above = "" if above.match?(OF_MEMBER)
    declared = declaration.comment&.string.to_s.strip
    @twice << object.path unless above.empty? || declared.empty?
    [above, declared, returned(object)].find { |text| !text.empty? } || ""
  end

  # The text of @return as a sentence.
  def returned(object)
    text = object&.tag(:return)&.text.to_s.strip
    text.empty? ? "" : "#{text[0].upcase}#{text[1..].delete_suffix(".")}."
  end
end
