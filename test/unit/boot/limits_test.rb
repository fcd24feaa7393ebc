# frozen_string_literal: true

require_relative "../../support/unit"
require "neverblock/boot/limits"
require "neverblock/config"
require "tmpdir"
require "fileutils"

class LimitsTest < Minitest::Test
  # Descriptor limits as setrlimit(2) keeps them; `refusal` is what it raises.
  class FakeProcess
    attr_reader :soft

    def initialize(soft, hard, refusal = nil)
      @soft = soft
      @hard = hard
      @refusal = refusal
    end

    def getrlimit(_name)
      [@soft, @hard]
    end

    def setrlimit(_name, soft, _hard)
      raise @refusal if @refusal

      @soft = soft
    end
  end

  # The limit is 65,530 maps, the kernel's default, and 200 are in use.
  # Ruby makes stacks in batches of 1024, so 31 batches fit.
  def test_fibers_over_the_map_limit_are_refused_with_the_number_that_fits_and_the_sysctl
    error = assert_raises(NeverBlock::StartError) { limits(fibers: 31_745).check_fibers }
    assert_equal "31745 fibers need about 66760 memory maps, vm.max_map_count is 65530: " \
                 "use -f 31744 or fewer, or raise it: sysctl -w vm.max_map_count=66760",
                 error.message
  end

  def test_the_number_it_names_fits
    assert_nil limits(fibers: 31_744).check_fibers
    assert_nil limits(fibers: 40_000, maps: 262_144).check_fibers
  end

  def test_small_counts_grow_in_powers_of_two
    assert_nil limits(fibers: 64, maps: 1_352, used: 200).check_fibers
    assert_raises(NeverBlock::StartError) do
      limits(fibers: 65, maps: 1_352, used: 200).check_fibers
    end
  end

  def test_a_system_without_such_a_limit_is_not_asked
    Dir.mktmpdir do |empty|
      config = NeverBlock::Config.new(fibers: 999_999)
      assert_nil NeverBlock::Boot::Limits.new(config, proc_root: empty).check_fibers
    end
  end

  def test_the_soft_descriptor_limit_is_raised_to_the_hard_one
    process = FakeProcess.new(1_024, 20_000)
    assert_empty limits(process: process).raise_descriptors
    assert_equal 20_000, process.soft
  end

  def test_a_hard_limit_below_need_is_one_line
    lines = limits(process: FakeProcess.new(1_024, 4_096)).raise_descriptors
    assert_equal 1, lines.size
    assert_match(
      /\A4096 descriptors are allowed; 10000 connections with 1024 requests may need 11152: /,
      lines.first
    )
    [
      ": raise the hard limit ", "ulimit -Hn 11152,", "LimitNOFILE=11152 of systemd",
      "nofile=11152 of docker"
    ].each { |mend| assert_includes lines.first, mend }
  end

  # macOS: the hard limit says infinity and setrlimit(2) refuses it.
  def test_a_system_that_refuses_leaves_the_soft_limit
    process = FakeProcess.new(12_000, Process::RLIM_INFINITY, Errno::EINVAL.new)
    assert_empty limits(process: process).raise_descriptors
    assert_equal 12_000, process.soft
  end

  def test_a_fiber_that_got_no_stack_for_want_of_maps_is_told_the_sysctl
    error = FiberError.new("can't set a guard page: Cannot allocate memory")
    told = limits(used: 64_600).no_stack(error)
    assert_instance_of FiberError, told
    assert_match(
      /\Acan't set a guard page: .* 64600 are in use, vm.max_map_count is 65530\): /,
      told.message
    )
    assert_match(/: .*sysctl -w vm.max_map_count=262120\z/, told.message)
  end

  def test_a_fiber_that_got_no_stack_for_want_of_memory_or_failed_otherwise_is_told_what_ruby_says
    error = FiberError.new("can't alloc machine stack to fiber: Cannot allocate memory")
    assert_same error, limits(used: 300).no_stack(error)
    other = FiberError.new("dead fiber called")
    assert_same other, NeverBlock::Boot::Limits.explain(other)
  end

  # Workers, fibers, bytes allowed => words of the line
  MEMORY = [
    [4, 1_024, nil, nil],
    [4, 1_024, 72 << 20, nil],
    [
      4, 1_024, 64 << 20,
      Regexp.new(
        '\A4 workers with 1024 fibers each need at least 72 MB; .* allows 64 MB.*: ' \
        'use fewer -w or -f, or give the container more memory\z'
      )
    ],
    [1, 10, 16 << 20, nil],
    [
      1, 100_000, 512 << 20,
      /\A100000 fibers need at least 1274 MB; .* allows 512 MB.*: use fewer -f, or/
    ]
  ].freeze

  MEMORY.each do |workers, fibers, allowed, words|
    told = words ? "told" : "fine"
    about = "#{workers} workers with #{fibers} fibers and #{allowed.inspect} bytes are #{told}"
    define_method("test_#{about}") do
      cgroup = Struct.new(:memory_bytes).new(allowed)
      config = NeverBlock::Config.new(fibers: fibers)
      lines = NeverBlock::Boot::Limits.new(config, cgroup: cgroup).tight_memory(workers)
      words ? assert_match(words, lines.fetch(0)) : assert_empty(lines)
    end
  end

  private

  def limits(fibers: 1_024, maps: 65_530, used: 200, process: nil)
    @proc_root = Dir.mktmpdir("neverblock-proc")
    FileUtils.mkdir_p([File.join(@proc_root, "sys/vm"), File.join(@proc_root, "self")])
    File.write(File.join(@proc_root, "sys/vm/max_map_count"), "#{maps}\n")
    File.write(File.join(@proc_root, "self/maps"), "7f00-7f01 r--p\n" * used)
    config = NeverBlock::Config.new(fibers: fibers)
    NeverBlock::Boot::Limits.new(config, proc_root: @proc_root, process: process)
  end

  def teardown
    FileUtils.remove_entry(@proc_root) if @proc_root
  end
end
