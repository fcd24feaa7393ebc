# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require_relative "../self_signed_certificate"

module Samples
  # The folder that a sample runs in. It stands for the folders that pages name as examples.
  class Sandbox
    FOLDERS = %w[/etc/app /srv/files /srv/app /var/lib/app /var/big.iso /run/app].freeze
    NAMED = /(?:#{Regexp.union(FOLDERS)})(?!\w)/
    APP = <<~'RUBY'
      run(->(env) { [200, { "content-type" => "text/plain" }, ["Hello #{env["PATH_INFO"]}"]] })
    RUBY
    FILES = {
      "config.ru" => APP, "app.ru" => APP, "public/index.html" => "<p>here</p>",
      "srv/files/invoice-4711.pdf" => "%PDF-", "var/big.iso" => "bytes",
      "config/puma.rb" => "threads 3, 3\nport ENV.fetch(\"PORT\", 3000)\n"
    }.freeze

    # @yieldparam sandbox [Sandbox]
    def self.open
      Dir.mktmpdir("neverblock-sample") { |folder| yield new(File.realpath(folder)) }
    end

    # @return [String] its folder
    attr_reader :folder

    def initialize(folder)
      @folder = folder
      FILES.each { |path, text| write(path, text) }
      FileUtils.mkdir_p(%w[tmp run/app srv/app/current var/lib/app].map { |path| at(path) })
      certificates
    end

    # @param text [String] a sample
    # @return [String] the same with this folder in the place of those of an example
    def localize(text)
      text.gsub(NAMED) { |path| at(path) }
    end

    # @return [String] the path
    def write(path, text)
      FileUtils.mkdir_p(File.dirname(at(path)))
      File.write(at(path), text)
      at(path)
    end

    def at(path) = File.join(@folder, path)

    private

    def certificates
      made = SelfSignedCertificate.new
      { "etc/app/cert.pem" => made.pem, "etc/app/key.pem" => made.key_pem,
        "etc/app/clients.pem" => made.pem, "a.pem" => made.pem, "a.key" => made.key_pem,
        "b.pem" => made.pem, "b.key" => made.key_pem }.each do |path, text|
        write(path, text)
        File.chmod(0o600, at(path))
      end
    end
  end
end
