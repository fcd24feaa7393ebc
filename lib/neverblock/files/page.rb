# frozen_string_literal: true

# The HTML page of a folder's listing: without scripts, with a dark mode, and usable on a phone.

require "cgi/escape"
require "neverblock/files/folder"
require "neverblock/files/place"
require "neverblock/watch/units"

module NeverBlock
  module Files
    class Page
      STYLE = <<~CSS
        :root { color-scheme: light dark; --line: #d8d8d8; --dim: #666; --link: #0b57d0 }
        @media (prefers-color-scheme: dark) {
          :root { --line: #3a3a3a; --dim: #a0a0a0; --link: #8ab4f8 }
        }
        body {
          font: 16px/1.5 system-ui, sans-serif;
          margin: 0 auto; max-width: 60rem; padding: 1rem
        }
        h1 { font-size: 1.25rem; overflow-wrap: anywhere }
        a { color: var(--link); text-decoration: none }
        a:hover, a:focus { text-decoration: underline }
        table { border-collapse: collapse; width: 100% }
        th, td { border-bottom: 1px solid var(--line); padding: .4rem .5rem; text-align: left }
        td:first-child { overflow-wrap: anywhere }
        th:nth-child(n+2), td:nth-child(n+2) { text-align: right; white-space: nowrap }
        td:nth-child(n+2), p, footer { color: var(--dim); font-variant-numeric: tabular-nums }
        @media (max-width: 32rem) {
          body { padding: .5rem }
          th:nth-child(3), td:nth-child(3) { display: none }
          td { padding: .7rem .3rem }
        }
      CSS
      HEADINGS = { "name" => "Name", "size" => "Size", "time" => "Changed" }.freeze
      ASCENDING = "\u{2191}"
      DESCENDING = "\u{2193}"

      # @param names [Array<String>] decoded path of the folder
      # @param folder [Folder]
      # @param top [String] URL path of the served folder
      def initialize(names, folder, top = "/")
        @names = names.map { |name| name.dup.force_encoding(Encoding::UTF_8) }
        @folder = folder
        @top = top
      end

      # @return [String] HTML
      def to_s
        <<~HTML
          <!DOCTYPE html>
          <html lang="en">
          <head>
          <meta charset="utf-8">
          <meta name="viewport" content="width=device-width, initial-scale=1">
          <title>#{escape(title)}</title>
          <style>
          #{STYLE}</style>
          </head>
          <body>
          <h1>#{way}</h1>
          <table>
          <thead><tr>#{HEADINGS.map { |key, text| heading(key, text) }.join}</tr></thead>
          <tbody>
          #{parent}#{@folder.entries.map { |entry| row(entry) }.join}</tbody>
          </table>
          <p>#{escape(summary)}</p>
          #{pager}</body>
          </html>
        HTML
      end

      private

      def escape(text)
        CGI.escapeHTML(text)
      end

      def title
        "/#{@names.map { |name| "#{name}/" }.join}"
      end

      # Links to each folder of the path.
      def way
        links = @names.each_index.map do |index|
          %(<a href="#{path(@names[0..index])}">#{escape(@names[index])}</a>/)
        end
        [%(<a href="#{@top}" aria-label="top">/</a>), *links].join
      end

      def path(names)
        escape("#{@top}#{names.map { |name| "#{Place.encode(name)}/" }.join}")
      end

      def heading(key, text)
        chosen = @folder.sort == key
        return %(<th scope="col">#{heading_link(key, text)}</th>) unless chosen

        sorted = @folder.descending ? "descending" : "ascending"
        arrow = @folder.descending ? DESCENDING : ASCENDING
        link = heading_link(@folder.descending ? key : "-#{key}", text, " #{arrow}")
        %(<th scope="col" aria-sort="#{sorted}">#{link}</th>)
      end

      # A large folder is sorted by name only, so that its other headings are no links.
      def heading_link(order, text, arrow = "")
        return text if @folder.large? && order.delete_prefix("-") != "name"

        %(<a href="?sort=#{order}">#{text}#{arrow}</a>)
      end

      def parent
        @names.empty? ? "" : %(<tr><td><a href="../">../</a></td><td></td><td></td></tr>\n)
      end

      def row(entry)
        name = escape("#{entry.text}#{"/" if entry.folder}")
        link = entry.href ? %(<a href="#{entry.href}">#{name}</a>) : name
        "<tr><td>#{link}</td><td>#{size(entry)}</td><td>#{time(entry)}</td></tr>\n"
      end

      def size(entry)
        return "" if entry.folder

        return "-" unless entry.size

        bytes = "#{Watch::Units.count(entry.size)} byte#{"s" unless entry.size == 1}"
        %(<span title="#{bytes}">#{Watch::Units.bytes(entry.size)}</span>)
      end

      def time(entry)
        return "-" unless entry.modified

        exact = entry.modified.getutc.strftime("%FT%TZ")
        %(<time datetime="#{exact}">#{entry.modified.strftime("%F %H:%M")}</time>)
      end

      def summary
        count = @folder.count
        text = count == 1 ? "1 entry" : "#{Watch::Units.count(count)} entries"
        text = "the first #{text}; there are more" if @folder.truncated?
        text = "#{text}; too many to sort by size or time" if @folder.large?
        text
      end

      def pager
        return "" if @folder.pages == 1

        links = { "previous" => @folder.page - 1, "next" => @folder.page + 1 }
        links = links.select { |_, page| page.between?(1, @folder.pages) }
        words = links.map { |text, page| page_link(text, page) }
        "<footer>Page #{@folder.page} of #{@folder.pages} #{words.join(" ")}</footer>\n"
      end

      def page_link(text, page)
        order = "#{"-" if @folder.descending}#{@folder.sort}"
        rel = text == "next" ? "next" : "prev"
        %(<a rel="#{rel}" href="?sort=#{order}&amp;page=#{page}">#{text}</a>)
      end
    end
  end
end
