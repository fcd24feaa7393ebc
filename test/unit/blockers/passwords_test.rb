# frozen_string_literal: true

require_relative "../../support/patience"
require_relative "../../support/unit"
require "argon2"
require "bcrypt"
require "neverblock"

# Hashes by the real gems: the result stays the same, and the loop goes on while they are computed.
class BlockersPasswordsTest < Minitest::Test
  Blockers = NeverBlock::Blockers
  WORD = "correct horse \u{1f40e}"
  SALT = "0123456789abcdef"
  BCRYPT_SALT = "$2a$04$abcdefghijklmnopqrstuu"
  # COSTLY computes a hash for some ten milliseconds. TURNS is the number of turns that the loop
  # takes in that time. Each turn gives Ruby's lock away.
  COSTLY = {
    "bcrypt" => -> { BCrypt::Password.create(WORD, cost: 10) },
    "argon2" => -> { Argon2::Password.new(t_cost: 4, m_cost: 14).create(WORD) }
  }.freeze
  TURNS = 3

  # Around the gems' C functions, for whoever watches.
  module Watched
    class << self
      attr_accessor :watcher
    end

    def self.of(*names)
      Module.new do
        names.each do |name|
          define_method(name) do |*arguments|
            Watched.watcher ? Watched.watcher.call { super(*arguments) } : super(*arguments)
          end
        end
      end
    end
  end
  BCrypt::Engine.singleton_class.prepend(Watched.of(:__bc_crypt))
  Argon2::Ext.singleton_class.prepend(
    Watched.of(:argon2i_hash_raw, :argon2id_hash_raw, :argon2_wrap, :wrap_argon2_verify)
  )

  CALLS = {
    "bcrypt, a hash" => -> { BCrypt::Engine.hash_secret(WORD, BCRYPT_SALT) },
    "bcrypt, a comparison" => -> {
      BCrypt::Password.new(HASHED[:bcrypt]).then { |hashed| [hashed == WORD, hashed == "other"] }
    },
    "argon2, a hash" => -> { Argon2::Engine.hash_argon2id(WORD.b, SALT, 1, 6, 1) },
    "argon2, one of the older kind" => -> { Argon2::Engine.hash_argon2i(WORD.b, SALT, 1, 6) },
    "argon2, one for a table" => -> {
      Argon2::Engine.hash_argon2id_encode(WORD, SALT, 1, 6, 1, "pepper")
    },
    "argon2, a comparison" => -> {
      [WORD, "other"].map { |word| Argon2::Password.verify_password(word, HASHED[:argon2]) }
    }
  }.freeze
  HASHED = {
    bcrypt: BCrypt::Password.create(WORD, cost: 4).to_s,
    argon2: Argon2::Password.new(t_cost: 1, m_cost: 6).create(WORD)
  }.freeze

  def setup
    Blockers.forget
  end

  def teardown
    Watched.watcher = nil
  end

  def test_what_comes_out_is_what_it_was_and_another_thread_has_computed_it
    CALLS.each do |name, call|
      expected = call.call
      threads = []
      Watched.watcher = lambda do |&made|
        threads << Thread.current
        made.call
      end
      assert_equal expected, NeverBlock.run { call.call }, name
      Watched.watcher = nil
      refute_empty threads, name
      refute_includes threads, Thread.current, name
    end
  end

  # One of OpenBSD's, which bcrypt's own specs have (spec/bcrypt/engine_spec.rb).
  def test_a_hash_is_that_of_other_programs
    NeverBlock.run do
      assert_equal "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
                   BCrypt::Engine.hash_secret("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.")
    end
  end

  # A hash begins, the loop turns, and the hash is not over. If the hash held Ruby's lock, it would
  # be over after the first turn. A machine that stands still lets one turn go by.
  COSTLY.each do |name, costly|
    define_method("test_other_fibers_run_while_#{name}_computes") do
      NeverBlock.run do
        running = turned = false
        Watched.watcher = lambda do |&made|
          running = true
          made.call
        ensure
          running = false
        end
        Fiber.schedule { costly.call && sleep(0) until turned }
        Patience.await("turns of the loop within a hash") do
          turned = running && Array.new(TURNS) { sleep(0.001) && running }.all?
        end
      end
    end
  end

  def test_errors_are_the_gems_own
    NeverBlock.run do
      assert_raises(BCrypt::Errors::InvalidSalt) { BCrypt::Engine.hash_secret(WORD, "salt") }
      assert_raises(Argon2::ArgonHashFail) { Argon2::Engine.hash_argon2id(WORD.b, SALT, 1, 1, 1) }
      assert_raises(Argon2::ArgonHashFail) do
        Argon2::Engine.hash_argon2id_encode(WORD, "short", 1, 6, 1, nil)
      end
    end
  end

  # Before 3.1.18 bcrypt keeps Ruby's lock, so a thread would be no help.
  # The methods of argon2 1 are others.
  def test_versions_that_were_not_read_are_left_alone
    known = { "bcrypt" => %w[3.1.18 3.1.22 3.9], "argon2" => %w[2.0.0 2.3.3 2.9] }
    unknown = { "bcrypt" => %w[3.1.17 4.0.0], "argon2" => %w[1.2.0 3.0.0] }
    Blockers.gems.select { |gem| known.key?(gem.name) }.each do |gem|
      answers = ->(versions) { versions.map { |version| gem.for?(Gem::Version.new(version)) }.uniq }
      assert_equal [true], answers.call(known.fetch(gem.name)), gem.name
      assert_equal [false], answers.call(unknown.fetch(gem.name)), gem.name
    end
  end
end
