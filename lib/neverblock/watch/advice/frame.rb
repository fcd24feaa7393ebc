# frozen_string_literal: true

# A frame of an observed wait (/observed.json), the wait itself, and the request.

module NeverBlock
  module Watch
    module Advice
      # name: "Order.total", "PG::Connection#exec". A block has its method's, and "block in <main>"
      # where that is none.
      Frame = Struct.new(:path, :line, :name, :gem) do
        def block?
          name.start_with?("block ")
        end

        # @return [Boolean] whether both are of one method
        def same_method?(other)
          path == other.path && name == other.name
        end

        # @return [String] of the method, without its class
        def method_name
          name[/[#.]([^#.]+)\z/, 1] || name
        end

        # @return [String]
        def class_name
          name[/\A(.+)[#.][^#.]+\z/, 1] || ""
        end
      end

      # frames: the outermost first. ends: it has a limit.
      Wait = Struct.new(:kind, :what, :start_s, :for_s, :ends, :frames) do
        # @return [Array<Frame>] the application's, the outermost first
        def own_frames
          @own_frames ||= frames.reject(&:gem)
        end

        # @param depth [Integer] number of a frame, from outside, among the application's
        # @return [Array<Frame>] of gems, outside of that
        def gem_frames_outside(depth)
          own = -1
          frames.take_while { |frame| (own += frame.gem ? 0 : 1) < depth }.select(&:gem)
        end

        # @return [Array<Frame>] between the application's innermost frame and the wait
        def gem_frames
          @gem_frames ||= frames.reverse.take_while(&:gem).reverse
        end
      end

      class Request
        # @return [Array<Wait>] by when they began
        attr_reader :waits

        # @param document [Hash] one of `requests` in /observed.json
        def initialize(document)
          @document = document.is_a?(Hash) ? document : {}
          @frames = rows("frames").map { |row| frame(row) }
          @waits = rows("waits").filter_map { |row| wait(row) }.sort_by(&:start_s)
        end

        # @return [String] "GET /orders/0": what requests are counted by
        def name
          "#{text("method")} #{text("route") || text("class") || text("path")}"
        end

        # @param kinds [Array<String>]
        # @return [Array<Wait>] those of these kinds that the application's code is known of
        def waits_for(kinds)
          waits.select { |wait| kinds.include?(wait.kind) && wait.own_frames.any? }
        end

        private

        def rows(name)
          value = @document[name]
          value.is_a?(Array) ? value : []
        end

        def text(name)
          value = @document[name]
          value if value.is_a?(String)
        end

        def number(value)
          value.is_a?(Numeric) ? value.to_f : 0.0
        end

        def frame(row)
          path, line, name, gem = row
          return unless path.is_a?(String) && line.is_a?(Integer) && name.is_a?(String)

          Frame.new(path, line, name, gem == true)
        end

        def wait(row)
          return unless row.is_a?(Hash) && row["stack"].is_a?(Array)

          places = row["stack"].grep(Integer).select { |place| place.between?(0, @frames.size - 1) }
          frames = places.reverse.filter_map { |place| @frames[place] }
          Wait.new(row["kind"].to_s, row["what"]&.to_s, number(row["start_s"]),
                   number(row["for_s"]), row["ends"] == true, frames)
        end
      end
    end
  end
end
