# frozen_string_literal: true

# GET /rails/ID/SIZE/ACTION, answered "ID|VALUE". What Rails keeps for a request stays with that
# request while it is preempted.
class HuntController < ApplicationController
  ZONES = %w[UTC Hawaii Tokyo Paris].freeze
  # Not Rails.cache. A FileStore raises ENOENT when it writes an entry that another request removes
  # for its age, on any server.
  STORE = ActiveSupport::Cache::MemoryStore.new

  around_action :in_a_zone

  def page
    Current.user = params[:id]
    @rows = Array.new(params[:size].to_i * 10) { |number| StallsHunt::Work.turn(number) }
    render layout: false
  end

  # Rows that become objects.
  def rows
    found = HuntRow.order(:number).limit(params[:size].to_i * 10).map do |row|
      StallsHunt::Work.spin(5) && row.twice
    end
    answer(found.each_with_index.all? { |twice, number| twice == number * 2 } ? "rows" : found)
  end

  def write
    HuntRow.transaction do
      row = HuntRow.create!(number: -1, token: params[:id])
      StallsHunt::Work.spin(500)
      row.update!(token: "#{row.token}!")
      StallsHunt::Work.spin(500)
      answer(HuntRow.find_by!(token: "#{params[:id]}!").destroy!.token)
    end
  end

  # Whatever has gone wrong in the block, nothing of it is written.
  def undone
    HuntRow.transaction do
      HuntRow.create!(number: -2, token: params[:id])
      StallsHunt::Work.spin(800)
      raise ActiveRecord::Rollback
    end
    answer(HuntRow.exists?(token: params[:id]))
  end

  # One store for all, under a Monitor.
  def cache
    size = params[:size].to_i
    value = STORE.fetch("hunt #{size} #{rand(50)}", expires_in: 0.05) do
      StallsHunt::Work.value("a_sort_by", size)
    end
    answer(value)
  end

  def stream
    self.response_body = Enumerator.new do |out|
      out << "#{params[:id]}|"
      params[:size].to_i.times { |number| StallsHunt::Work.spin(300) && out << "#{number};" }
    end
  end

  private

  def answer(value)
    render plain: "#{params[:id]}|#{value}"
  end

  # The zone and the locale are the fiber's.
  def in_a_zone(&action)
    @zone = ZONES[StallsHunt::Work.digest(params[:id]) % ZONES.size]
    Time.use_zone(@zone) { I18n.with_locale(:en, &action) }
    raise "the zone is #{Time.zone.name} afterwards" unless Time.zone.name == "UTC"
  end
end
