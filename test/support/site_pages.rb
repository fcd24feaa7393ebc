# frozen_string_literal: true

# The built site: each page, the anchors it has and the links it holds.

require "nokogiri"

class SitePages
  Broken = Struct.new(:page, :link) do
    def to_s = "#{page}: #{link}"
  end

  # @param folder [String] of the site
  def initialize(folder)
    @folder = File.realpath(folder)
    @documents = {}
  end

  # @return [Array<String>] paths below the folder
  def all = Dir.glob("**/*.html", base: @folder).sort

  # @return [Array<Broken>] links, style sheets and scripts that lead nowhere
  def broken
    all.flat_map do |page|
      links(page).reject { |link| right?(page, link) }.map { |link| Broken.new(page, link) }
    end
  end

  # @return [Array<String>] values of id that a page has twice
  def repeated(page)
    document(page).css("[id]").map { |node| node["id"] }.tally.select { |_, count| count > 1 }.keys
  end

  private

  def document(page)
    @documents[page] ||= Nokogiri::HTML5(File.read(File.join(@folder, page)))
  end

  def links(page)
    document(page).css("a[href], link[href], script[src]").map { |node|
      node["href"] || node["src"]
    }.uniq
  end

  # Links to other hosts are not followed.
  def right?(page, link)
    return true if link.match?(/\A[a-z]+:/)

    path, fragment = link.split("#", 2)
    target = path.empty? ? page : File.join(File.dirname(page), path)
    file = File.expand_path(target, @folder)
    return false unless file.start_with?("#{@folder}/") && File.file?(file)

    fragment.to_s.empty? || anchors(file.delete_prefix("#{@folder}/")).include?(fragment)
  end

  def anchors(page)
    (@anchors ||= {})[page] ||= document(page).css("[id]").to_set { |node| node["id"] }
  end
end
