# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock"
require "neverblock/blockers/gem"
require "tmpdir"
require "zlib"

# Which thread makes a call: the fiber's own, or another.
# The rows of test/hooks prove that a slow call lets others run.
class BlockersTest < Minitest::Test
  Blockers = NeverBlock::Blockers
  # core/base/call_sites.h
  TRUST = 8
  # Far from both bounds, so that a thread that is not given a processor makes no difference.
  SLOW_S = 0.03

  def setup
    Blockers.forget
  end

  # A method that is wrapped, and says who made it.
  class Work
    def who(pause = 0)
      sleep(pause) if pause.positive?
      Thread.current
    end

    def raises = raise(ArgumentError, "as it is")
    def takes(one, two: 2) = [one, two, yield]
    prepend NeverBlock::Blockers.around(%i[who raises takes])
  end

  # @return [Array<Boolean>] of each call, whether another thread made it
  def elsewhere(count, pause = 0, work: Work.new)
    Array.new(count) { work.who(pause) != Thread.current }
  end

  # Calls from one place until the calls are made here.
  # That takes a few calls more where the machine lets threads wait.
  def earn_trust(work, most: 10_000)
    most.times { return if work.call == Thread.current }
    flunk "no call of #{most} was made here"
  end

  def test_the_first_calls_of_a_place_are_made_elsewhere_and_then_here
    NeverBlock.run do
      assert_equal [true] * TRUST, elsewhere(TRUST)
      earn_trust(-> { Work.new.who })
    end
  end

  def test_calls_that_take_their_time_stay_elsewhere
    NeverBlock.run { assert_equal [true] * (TRUST + 4), elsewhere(TRUST + 4, SLOW_S) }
  end

  # The wait for Ruby's lock must not count. A call that takes no time would seem slow beside a
  # thread that computes. It would then be made elsewhere, and wait for the lock several times.
  def test_what_a_call_has_waited_for_rubys_lock_does_not_count
    skip "before 3.3 Ruby does not tell when a thread has Ruby's lock again" if RUBY_VERSION < "3.3"
    busy = Thread.new { loop { nil } }
    (TRUST * 25).times do
      Blockers.timed(1, false) { File.file?(__FILE__) } unless Blockers.here?(1)
    end
    assert Blockers.here?(1), "calls that took no time were slow"
  ensure
    busy&.kill&.join
  end

  # A machine that lets threads wait may take the trust away before it is tried.
  # The test therefore tries several times.
  def test_two_slow_calls_in_a_row_take_the_trust_away
    NeverBlock.run { assert_includes Array.new(20) { two_slow_calls_and_one_more }, [true, false] }
  end

  # @return [Array<Boolean>] whether the first, and whether the last of three calls was made here
  def two_slow_calls_and_one_more
    Blockers.forget
    trusted = false
    made = []
    10_000.times do # from one line, which is one place
      here = Work.new.who(trusted && made.size < 2 ? SLOW_S : 0) == Thread.current
      made << here if trusted
      return [made.first, made.last] if made.size == 3

      trusted ||= here
    end
    flunk "no call was made here"
  end

  def test_places_are_judged_by_themselves
    NeverBlock.run do
      one = -> { Work.new.who }
      other = -> { Work.new.who }
      earn_trust(one)
      refute_equal Thread.current, other.call
    end
  end

  def test_outside_of_a_loop_and_where_nothing_may_park_they_are_made_here
    assert_equal [false], elsewhere(1)
    NeverBlock.run { NeverBlock.neverblock(false) { assert_equal [false], elsewhere(1) } }
    NeverBlock.run { NeverBlock.offload { assert_equal [false], elsewhere(1) } }
  end

  def test_arguments_blocks_and_errors_are_what_they_were
    NeverBlock.run do
      (TRUST * 2).times do
        assert_equal [1, 3, :block], Work.new.takes(1, two: 3) { :block }
        error = assert_raises(ArgumentError) { Work.new.raises }
        assert_equal "as it is", error.message
      end
    end
  end

  # (One that was cancelled before its thread came to it is never made.)
  def test_a_call_that_is_cancelled_meanwhile_is_waited_for
    began = ended = false
    slow = Class.new do
      define_method(:work) { (began = true) && sleep(SLOW_S).then { ended = true } }
      prepend NeverBlock::Blockers.around(%i[work])
    end
    NeverBlock.run do
      until began
        assert_raises(NeverBlock::DeadlineExceeded) { NeverBlock.deadline(0.001) { slow.new.work } }
        assert_equal began, ended
      end
    end
  end

  # --- files

  def test_files_of_a_quick_disk_are_read_and_written_as_ever
    Dir.mktmpdir do |directory|
      path = File.join(directory, "text")
      NeverBlock.run do
        (TRUST * 2).times do |time|
          assert_equal [4, "text", 4, true], use(path, directory), "time #{time}"
        end
        assert_raises(Errno::ENOENT) { File.open(File.join(directory, "none")) }
        assert_raises(Errno::ENOENT) { File.stat(File.join(directory, "none")) }
      end
    end
  end

  def use(path, directory)
    written = File.write(path, "text", perm: 0o600)
    File.open(path, "r+", encoding: "UTF-8") { |file| file.fsync && file.truncate(4) }
    File.rename(path, "#{path}.new")
    File.rename("#{path}.new", path)
    IO.copy_stream(path, "#{path}.copy")
    listed = Dir.open(directory) { |folder| folder.children.include?("text.copy") }
    [written, File.read(path, mode: "rb"), File.size(path), listed]
  end

  def test_the_block_of_an_open_file_or_folder_is_the_fibers
    Dir.mktmpdir do |directory|
      NeverBlock.run do
        File.open(File.join(directory, "x"), "w") { assert_same Thread.main, Thread.current }
        Dir.open(directory) do |folder|
          assert_equal [Thread.main, 1], [Thread.current, folder.children.size]
        end
      end
    end
  end

  # --- gems

  def test_a_gem_is_wrapped_once_and_only_in_versions_that_are_known
    Object.const_set(:NeverBlockFake, Module.new { def self.work = Thread.current })
    spec = Struct.new(:version).new(Gem::Version.new("1.5"))
    Gem.loaded_specs.stub(:[], ->(name) { spec if name == "fake" }) do
      refute gem_of("fake", ">= 2").apply
      refute gem_of("other", ">= 0").apply
      known = gem_of("fake", ">= 1", "< 2")
      assert known.apply
      assert known.apply
    end
    singleton = NeverBlockFake.singleton_class
    assert_equal 1, singleton.ancestors.take_while { |owner| owner != singleton }.size
    NeverBlock.run { refute_equal Thread.current, NeverBlockFake.work }
  ensure
    Object.send(:remove_const, :NeverBlockFake)
  end

  def test_a_gem_that_is_not_loaded_is_left_alone
    gem = Blockers::Gem.new(
      name: "fake", versions: [">= 0"], owner: "NoSuchThing::AtAll", singleton: false, names: %i[x]
    )
    refute gem.apply
  end

  def test_compressed_text_is_what_it_was
    text = "text" * 1000
    NeverBlock.run do
      (TRUST * 2).times do
        assert_equal text, Zlib.gunzip(Zlib.gzip(text))
        assert_equal text, Zlib::Inflate.inflate(Zlib::Deflate.deflate(text, 9))
      end
    end
  end

  private

  def gem_of(name, *versions)
    Blockers::Gem.new(
      name: name, versions: versions, owner: "NeverBlockFake", singleton: true,
      names: %i[work not_in_this_version]
    )
  end
end
