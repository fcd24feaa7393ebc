# GET / => 200 7,paid

# frozen_string_literal: true

Order = Struct.new(:number, :state) do
  def self.find_each = yield(new(7, "paid"))
  def to_csv = "#{number},#{state}\n"
end
run(lambda do |_env|
  # SAMPLE
end)
