# frozen_string_literal: true

# A script stands for pdflatex.
Gems.use "rails-latex" do
  requires "fileutils"
  setup do
    FOLDER = Dir.mktmpdir
    LATEX = File.join(FOLDER, "latex")
    File.write(LATEX, "#!/bin/sh\nsleep 0.01\ncp input.tex input.pdf\n", perm: 0o755)
    module Rails
      def self.root = FOLDER
      def self.logger = @logger ||= Logger.new(File::NULL)
    end
    require "rails-latex/latex_to_pdf"
    LatexToPdf.config[:command] = LATEX
  end
  answer { |id| LatexToPdf.generate_pdf("The text of #{id}.", {}) }
end
