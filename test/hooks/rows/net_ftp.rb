# frozen_string_literal: true

require "hooks/services/bundled"
require "hooks/services/holding"
require "hooks/services/ftp"

HookTable.library "net/ftp" do
  plain = HookServices::Ftp::TEXT
  connect = lambda do |service, **options|
    HookServices::Bundled.require("net/ftp", gem: "net-ftp")
    Net::FTP.new(nil, **options).tap { |ftp| ftp.connect(service.host, service.port) }
  end
  login = ->(service) { connect.call(service).tap { |ftp| ftp.login("user", "secret") } }

  row "Net::FTP#connect" do
    service = holding(HookServices::Ftp.new(hold: :greeting))
    inside { connect.call(service).last_response_code }
    gives "220"
  end

  row "Net::FTP#login" do
    service = holding(HookServices::Ftp.new(hold: "PASS"))
    ftp = connect.call(service)
    inside { ftp.login("user", "secret").then { ftp.last_response_code } }
    gives "200" # of TYPE, which follows
  end

  {
    "chdir" => ["CWD", ->(ftp) { ftp.chdir("/x").to_s }, ""],
    "pwd" => ["PWD", ->(ftp) { ftp.pwd }, "/"],
    "size" => ["SIZE", ->(ftp) { ftp.size("x") }, 15],
    "mtime" => ["MDTM", ->(ftp) { ftp.mtime("x").year }, 2026],
    "mkdir" => ["MKD", ->(ftp) { ftp.mkdir("/new") }, "/new"],
    "delete" => ["DELE", ->(ftp) { ftp.delete("x").to_s }, ""],
    "rename" => ["RNTO", ->(ftp) { ftp.rename("x", "y").to_s }, ""],
    "noop" => ["NOOP", ->(ftp) { ftp.noop.to_s }, ""],
    "list" => [:data, ->(ftp) { ftp.list }, %w[first second]],
    "nlst" => [:data, ->(ftp) { ftp.nlst }, %w[first second]],
    "gettextfile" => [:data, ->(ftp) {
      [].tap { |lines| ftp.gettextfile("x", File::NULL) { |line| lines << line } }
    }, %w[first second]],
    "getbinaryfile" => [:data, ->(ftp) { ftp.getbinaryfile("x", nil) }, plain],
    "retrbinary" => [:data, ->(ftp) {
      [].tap { |parts| ftp.retrbinary("RETR x", 1024) { |part| parts << part } }.join
    }, plain],
    "quit" => ["QUIT", ->(ftp) { ftp.quit.to_s }, ""]
  }.each do |name, (point, call, value)|
    row "Net::FTP##{name}" do
      service = holding(HookServices::Ftp.new(hold: point))
      ftp = login.call(service)
      inside { call.call(ftp) }
      gives { |result| value == "" || result == value }
    end
  end

  row "Net::FTP#getbinaryfile", "before the last reply" do
    service = holding(HookServices::Ftp.new(hold: :complete))
    ftp = login.call(service)
    inside { ftp.getbinaryfile("x", nil) }
    gives plain
  end

  row "Net::FTP#getbinaryfile", "before the data connection" do
    service = holding(HookServices::Ftp.new(hold: "PASV"))
    ftp = login.call(service)
    inside { ftp.getbinaryfile("x", nil) }
    gives plain
  end

  row "Net::FTP#putbinaryfile", "data that are taken slowly" do
    service = holding(HookServices::Ftp.new(hold: :data))
    ftp = login.call(service)
    source = file("x" * (16 << 20))
    inside { ftp.putbinaryfile(source, "y") }
    gives { service.seen.last.bytesize == 16 << 20 }
  end

  row "Net::FTP#puttextfile" do
    service = holding(HookServices::Ftp.new(hold: :complete))
    ftp = login.call(service)
    source = file("first\nsecond\n")
    inside { ftp.puttextfile(source, "y") }
    gives { service.seen.include?(plain) }
  end

  row "Net::FTP#storbinary", "from a pipe" do
    service = HookServices::Ftp.new
    ftp = login.call(service)
    reader, writer = IO.pipe
    inside { ftp.storbinary("STOR y", reader, 1024) }
    event { writer.write("first,") }
    event { writer.tap { writer.write("second") }.close }
    gives { service.seen.last == "first,second" }
  end

  row "Net::FTP#read_timeout" do
    service = HookServices::Ftp.new(hold: "NOOP")
    ftp = connect.call(service, read_timeout: 0.5)
    inside { ftp.noop }
    reached { service.reached? }
    elapses
    raises Net::ReadTimeout
  end
end
