# frozen_string_literal: true

require "fileutils"
require "open3"
require "tmpdir"
require_relative "../support/patience"

# bin/setup where an installation of packages is cut short, held by somebody else, or slow. dpkg is
# the real one, with a database and a root of its own. apt-get is a stand-in that has dpkg install
# small packages: it does to dpkg what the real one does when it is interrupted.
class SetupTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  PACKAGES = File.read(File.join(ROOT, "bin/setup"))[/^packages_base="([^"]+)"/, 1].split

  # What each stand-in does. $FAKE is the test's folder.
  COMMANDS = {
    "id" => "echo 0",
    "apt-cache" => "for name; do [ \"$name\" = policy ] || echo \"  Candidate: 1.0 ($name)\"; done",
    "install" => "exit 1", # no guard against services: nothing of the machine is changed
    "apt-get" => <<~'SH'
      echo "$*" >>"$FAKE/apt-calls"
      case " $* " in *" install "*) ;; *) exit 0 ;; esac
      if [ -e "$FAKE/held" ]; then
          echo "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process" \
              "4711 (unattended-upgr)" >&2
          exit 100
      fi
      # As the real one (apt-pkg/deb/debsystem.cc, CheckUpdates).
      if ls "$DPKG_ADMINDIR/updates" | grep -q '^[0-9]'; then
          echo "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct" \
              "the problem." >&2
          exit 100
      fi
      echo "Setting up everything"
      [ ! -p "$FAKE/gate" ] || read -r go <"$FAKE/gate"
      dpkg --unpack "$FAKE"/debs/*.deb || exit 100
      if [ -e "$FAKE/interrupt" ]; then
          rm "$FAKE/interrupt"
          kill -INT 0
          exit 130
      fi
      dpkg --configure -a
    SH
  }.freeze

  def setup
    skip "dpkg is Debian's" unless system("command -v dpkg dpkg-deb >/dev/null")
    @folder = Dir.mktmpdir("neverblock-setup")
    make_tree
    make_database
    make_packages
    make_commands
  end

  def teardown
    FileUtils.rm_rf(@folder) if @folder
  end

  def test_packages_are_installed_once
    output = run_setup
    assert_match(/^setup: packages: installing \d+: .*libnghttp2-dev/, output)
    assert_match(/^setup: ready/, output)
    calls = apt_calls
    assert_match(/^setup: ready/, run_setup)
    assert_equal calls, apt_calls
  end

  def test_after_ctrl_c_in_the_middle_of_an_installation_it_is_finished
    touch("interrupt")
    output = run_setup(status: 130)
    assert_match(/^setup: stopped: bin.setup goes on from here when it is run again$/, output)
    refute_empty dpkg("--audit")
    output = run_setup
    mending = "finishing it (dpkg --configure -a && apt-get -f install)"
    assert_includes output, "setup: packages: an installation was cut short: #{mending}\n"
    assert_match(/^setup: ready/, output)
    assert_empty dpkg("--audit")
  end

  # dpkg was killed while it wrote to its database: apt refuses until dpkg has been run.
  def test_an_interrupted_dpkg_is_finished
    touch("dpkg/info/some-library.list")
    touch("dpkg/info/some-library.md5sums")
    File.write(File.join(@folder, "dpkg/updates/0001"), <<~STANZA)
      Package: some-library
      Status: install ok unpacked
      Architecture: all
      Version: 1.0
      Maintainer: Nobody <nobody@example.org>
      Description: left half-way
    STANZA
    output = run_setup
    assert_match(/an installation was cut short: finishing it/, output)
    assert_match(/^setup: ready/, output)
  end

  def test_what_cannot_be_finished_by_itself_names_the_command
    touch("interrupt")
    run_setup(status: 130)
    command("dpkg", "exit 1")
    output = run_setup(status: 1)
    assert_match(/half-installed and cannot be finished .* as root:$/, output)
    assert_match(/^  dpkg --configure -a && apt-get -f install$/, output)
  end

  def test_who_installs_packages_meanwhile_is_named
    touch("held")
    output = run_setup(status: 1)
    assert_match(/process 4711 \(unattended-upgr\) installs packages: wait until it has ended/,
                 output)
  end

  def test_a_second_one_says_that_it_waits_and_goes_on_when_the_first_has_ended
    File.mkfifo(File.join(@folder, "gate"))
    start do |first, first_pid|
      first.gets until apt_calls.any?
      start do |second, second_pid|
        assert_equal "setup: another bin/setup (process #{first_pid}) is at work here: waiting " \
                     "until it has ended\n", second.gets
        File.write(File.join(@folder, "gate"), "go\n")
        assert_match(/^setup: ready/, first.read)
        assert_match(/^setup: ready/, second.read)
        assert_equal second_pid, Integer(File.read(File.join(@folder, "tree/tmp/setup.pid")), 10)
      end
    end
    assert_equal 1, apt_calls.size
  end

  def test_a_step_that_lasts_tells_how_long_and_what_it_does
    File.mkfifo(File.join(@folder, "gate"))
    start do |out, _pid|
      line = out.gets until line&.include?("so far")
      assert_match(/^setup:   apt-get install: \d+ s so far: Setting up everything$/, line)
      File.write(File.join(@folder, "gate"), "go\n")
      assert_match(/^setup:   apt-get install: done in \d+ s$/, out.read)
    end
  end

  private

  # A checkout of which only what bin/setup reads is there; its extension is made at once.
  def make_tree
    tree = File.join(@folder, "tree")
    %w[bin ext/neverblock lib/neverblock].each { |name| FileUtils.mkdir_p(File.join(tree, name)) }
    FileUtils.cp(File.join(ROOT, "bin/setup"), File.join(tree, "bin"))
    FileUtils.touch(File.join(tree, "ext/neverblock/depend"))
    File.write(File.join(tree, "ext/neverblock/extconf.rb"),
               'File.write("Makefile", "neverblock.so:\n\ttouch $@\n")')
  end

  def make_database
    %w[dpkg/info dpkg/updates dpkg/triggers root debs bin].each do |name|
      FileUtils.mkdir_p(File.join(@folder, name))
    end
    touch("dpkg/status")
    touch("dpkg/available")
  end

  def make_packages
    PACKAGES.each do |name|
      folder = File.join(@folder, "make/#{name}/DEBIAN")
      FileUtils.mkdir_p(folder)
      File.write(File.join(folder, "control"), <<~CONTROL)
        Package: #{name}
        Version: 1.0
        Architecture: all
        Maintainer: Nobody <nobody@example.org>
        Description: an empty package
      CONTROL
      output, status = Open3.capture2e("dpkg-deb", "--build", "-Znone", File.dirname(folder),
                                       File.join(@folder, "debs/#{name}.deb"))
      assert status.success?, output
    end
  end

  def make_commands
    COMMANDS.each { |name, text| command(name, text) }
  end

  def command(name, text)
    path = File.join(@folder, "bin/#{name}")
    File.write(path, "#!/bin/sh\n#{text}\n")
    File.chmod(0o755, path)
  end

  def real(name)
    ENV.fetch("PATH").split(":").map { |folder| File.join(folder, name) }.find do |path|
      File.executable?(path)
    end
  end

  def touch(name)
    FileUtils.touch(File.join(@folder, name))
  end

  def environment
    { "PATH" => "#{@folder}/bin:#{ENV.fetch("PATH")}:/usr/sbin:/sbin", "FAKE" => @folder,
      "DPKG_ADMINDIR" => "#{@folder}/dpkg", "DPKG_ROOT" => "#{@folder}/root",
      "DPKG_FORCE" => "not-root,bad-path,unsafe-io", "NB_SETUP_TICK_S" => "1" }
  end

  # A process group of its own, as a shell makes for a command that is typed.
  def start
    out = IO.popen(environment, [File.join(@folder, "tree/bin/setup")], err: %i[child out],
                                                                       pgroup: true)
    yield out, out.pid
  ensure
    Process.kill(:TERM, -out.pid) if out && !out.closed? && !out.eof?
    out&.close
  end

  def run_setup(status: 0)
    start do |out, pid|
      text = out.read
      Process.wait(pid)
      assert_equal status, $?.exitstatus || ($?.termsig + 128), text
      text
    end
  end

  def dpkg(*words)
    Open3.capture2e(environment, real("dpkg"), *words).first
  end

  def apt_calls
    path = File.join(@folder, "apt-calls")
    File.exist?(path) ? File.readlines(path, chomp: true).grep(/ install/) : []
  end
end
