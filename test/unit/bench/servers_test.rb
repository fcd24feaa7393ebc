# frozen_string_literal: true

require_relative "bench_case"

class BenchServersTest < BenchCase
  def test_a_cluster_is_told_how_many_workers_and_how_many_requests_at_once
    { "neverblock w2" => %w[-f 1024 -w 2], "neverblock w4 f1" => %w[-f 1 -w 4],
      "puma w4 t1" => %w[-w 4 -t 1:1], "falcon w2" => %w[--count 2] }.each do |name, words|
      assert_includes launch(name).command.each_cons(words.size), words, name
    end
    assert_equal "1", launch("falcon w4 h1").environment["NB_BENCH_HOLD"]
  end

  def test_every_server_that_a_claim_names_exists_and_the_first_ones_are_one_process
    catalog = Catalog.new
    claims = catalog.names.map { |name| catalog.find(name) }.grep_v(ProgramClaim)
    claims.each { |claim| assert_equal claim.servers, claim.candidates.map(&:name) }
    assert_equal ["-w", "0", "-t", "1000:1000"], launch("puma 1000").command[-7, 4]
  end

  private

  def launch(name)
    Servers.named([name]).first.launch(port: 7, app: "a.ru", directory: "/tmp/x")
  end
end
