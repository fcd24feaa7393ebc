# frozen_string_literal: true

# A generated Rails application with asynchronous queries, once with each of Rails' executors: they
# run in fibers beside their requests, and Rails' threads are given none.

require "json"
require "minitest/autorun"
require_relative "../support/http_client"
require_relative "../support/rails_application"

class RailsAsyncTest < Minitest::Test
  AT_ONCE = 8
  # An application's own setting.
  SETTING = <<~RUBY
    Rails.application.config.active_record.async_query_executor = %s
    Rails.application.config.active_record.global_executor_concurrency = 4 if %s == :global_thread_pool
    Rails.application.routes.append { get "async/:text", to: "async#show" }
  RUBY
  CONTROLLER = <<~RUBY
    class AsyncController < ActionController::Base
      def show
        Note.create!(text: params[:text])
        notes = Note.where(text: params[:text]).load_async
        count = Note.where(text: params[:text]).async_count
        scheduled = notes.scheduled?
        render json: { executor: ActiveRecord.async_query_executor, scheduled: scheduled,
                       texts: notes.map(&:text), count: count.value, process: Process.pid, **left }
      end

      private

      def left
        executor = Note.connection_pool.async_executor
        queries = NeverBlock::DB::ActiveRecord::AsyncQueries.of(executor)
        { tasks: executor.scheduled_task_count, running: queries.running }
      end
    end
  RUBY

  %i[global_thread_pool multi_thread_pool].each do |executor|
    define_method(:"test_with_#{executor}_queries_run_in_fibers") do
      serve(executor) do |server|
        texts = Array.new(AT_ONCE) { |number| "text-#{number}" }
        threads = texts.map { |text| Thread.new { ask(server, text) } }
        threads.map(&:value).zip(texts) do |answer, text|
          assert_equal [executor.to_s, true, [text], 1, 0],
                       answer.values_at("executor", "scheduled", "texts", "count", "tasks")
        end
        assert_equal 0, ask(server, "last")["running"]
      end
    end
  end

  private

  def serve(executor)
    write = { "config/initializers/async.rb" => format(SETTING, *[executor.inspect] * 2),
              "app/controllers/async_controller.rb" => CONTROLLER, **RailsServer::WRITE }
    server = RailsServer.new("bin/rails", "server", *RailsServer::ANY, write: write).start
    yield server
  ensure
    server&.stop(expect: nil)
  end

  def ask(server, text)
    uri = URI("#{server.url}/async/#{text}")
    answer = HTTPClient.open(uri, read_timeout: Patience::SECONDS) do |client|
      client.get(uri.request_uri)
    end
    assert_equal "200", answer.code, "#{answer.body[0, 1_000]}\n#{server.log}"
    JSON.parse(answer.body)
  end
end
