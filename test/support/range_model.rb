# frozen_string_literal: true

# What a Range field asks of a file, read from RFC 9110 section 14 and the rules of files/ranges.h
# without a look at its code.

module RangeModel
  RANGES_MAX = 16
  PART_COST = 128

  module_function

  # @param field [String] the field's value
  # @param size [Integer] bytes of the file
  # @return [Array<Range>] to be sent, in this order; or :whole (200), :none (416)
  def read(field, size)
    parts = field[/\Abytes=(.*)\z/im, 1]&.split(",")
    specs = parts&.map { |spec| spec.gsub(/\A[ \t]+|[ \t]+\z/, "") }&.reject(&:empty?)
    return :whole if size.zero? || specs.nil? || specs.empty? || specs.size > RANGES_MAX

    asked = specs.map { |spec| one(spec, size) }
    return :whole if asked.include?(:invalid)

    ranges = asked.compact.reduce([]) { |before, range| join(before, range) }
    return :none if ranges.empty?

    costs?(ranges, size) ? :whole : ranges
  end

  # @return [Range, nil, :invalid] nil: it cannot be satisfied
  def one(spec, size)
    case spec
    when /\A-(\d+)\z/
      Regexp.last_match(1).to_i.zero? ? nil : ([size - Regexp.last_match(1).to_i, 0].max..size - 1)
    when /\A(\d+)-(\d*)\z/
      first = Regexp.last_match(1).to_i
      last = Regexp.last_match(2).empty? ? size - 1 : Regexp.last_match(2).to_i
      return :invalid if last < first && !Regexp.last_match(2).empty?

      first < size ? first..[last, size - 1].min : nil
    else :invalid
    end
  end

  def join(ranges, added)
    touching, apart = ranges.partition do |range|
      range.begin <= added.end + 1 && added.begin <= range.end + 1
    end
    return ranges + [added] if touching.empty?

    whole = (touching + [added]).map(&:begin).min..(touching + [added]).map(&:end).max
    place = ranges.index(touching.first)
    apart.insert(place, whole)
  end

  def costs?(ranges, size)
    ranges.size > 1 && ranges.sum(&:size) + (ranges.size * PART_COST) > size
  end
end
