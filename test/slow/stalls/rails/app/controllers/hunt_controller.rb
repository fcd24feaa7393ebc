# frozen_string_literal: true

# GET /rails/ID/SIZE/ACTION, answered "ID|VALUE": what a request of Rails keeps for itself stays its own while it is cut.
class HuntController < ApplicationController
  ZONES = %w[UTC Hawaii Tokyo Paris].freeze
  # Not Rails.cache: a FileStore answers ENOENT to who writes an entry while another request, on any server, removes it for its age.
  STORE = ActiveSupport::Cache::MemoryStore.new

  around_action :in_a_zone

  def page
    Current.user = params[:id]
    @rows = Array.new(params[:size].to_i * 10) { |number| StallsHunt::Work.turn(number) }
    render layout: false
  end

  # Rows that become objects.
  def rows
    found = HuntRow.order(:number).limit(params[:size].to_i * 10).map { |row| StallsHunt::Work.spin(5) && row.twice }
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
    answer(STORE.fetch("hunt #{size} #{rand(50)}", expires_in: 0.05) { StallsHunt::Work.value("a_sort_by", size) })
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
