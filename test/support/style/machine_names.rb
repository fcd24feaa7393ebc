# frozen_string_literal: true

module Style
  # A file in the tree is true on every machine: it names neither the package sources this one is
  # configured with nor where its checkout lies. Both are read from the machine when the rule runs.
  class MachineNames
    ABOUT = "no host of a package source and no path of a machine in tracked files"
    TEXT_BYTES_MAX = 1_000_000
    SHARED_FOLDERS = %w[work farm].freeze # folders at the root of build machines

    # @param hosts [Array<String>, nil] hosts to look for; nil asks RubyGems, npm and apt
    def initialize(hosts: nil)
      @hosts = hosts
    end

    def violations(tree)
      hosts = @hosts || configured_hosts
      folders = SHARED_FOLDERS.map { |name| "/#{name}/" }
      paths = [tree.root, *folders].select { |path| path.count("/") > 1 }.uniq
      words = Regexp.union(hosts)
      places = /(?<![\w.])#{Regexp.union(paths)}/
      texts = tree.files.reject { |path| File.size(tree.absolute(path)) > TEXT_BYTES_MAX }
      texts.flat_map { |path| in_file(tree, path, hosts.empty? ? nil : words, places) }
    end

    # @return [Array<String>] host names in the configuration of RubyGems, npm and apt
    def configured_hosts
      texts = Gem.sources.to_a.map(&:to_s)
      texts << ENV.fetch("npm_config_registry", "")
      files = ["~/.npmrc", "/etc/npmrc", "~/.gemrc", "/etc/apt/sources.list",
               *Dir["/etc/apt/sources.list.d/*"]]
      texts += files.map { |path| readable(path) }
      texts << default_npm_registry
      texts.join("\n").scan(%r{https?://(?:[^/@\s]*@)?([^/:\s"']+\.[^/:\s"']+)}).flatten.uniq
    end

    private

    def readable(path)
      File.read(File.expand_path(path))
    rescue SystemCallError, ArgumentError
      ""
    end

    def default_npm_registry
      IO.popen(%w[npm config get registry], err: File::NULL, &:read).to_s
    rescue Errno::ENOENT
      ""
    end

    def in_file(tree, path, words, places)
      tree.lines(path).each_with_index.filter_map do |line, index|
        next unless (seen = line[places] || (words && line[words]))

        Violation.new(path, index + 1,
                      "names #{seen}: take it from the machine's own configuration at run time")
      end
    end
  end
end
