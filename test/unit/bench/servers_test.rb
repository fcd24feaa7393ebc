# frozen_string_literal: true

require_relative "bench_case"

class BenchServersTest < BenchCase
  def test_every_server_that_a_claim_names_exists_and_is_one_process
    catalog = Catalog.new
    claims = catalog.names.map { |name| catalog.find(name) }.grep_v(ProgramClaim)
    claims.each { |claim| assert_equal claim.servers, claim.candidates.map(&:name) }
    puma = Servers.named(["puma 1000"]).first.launch(port: 7, app: "a.ru", directory: "/tmp/x").command
    assert_equal ["-w", "0", "-t", "1000:1000"], puma[-7, 4]
  end
end
