# frozen_string_literal: true

Gems.use "roda" do
  requires "roda"
  app do
    Class.new(Roda) do
      plugin :json
      route do |r|
        r.get(String) { |id| Hunt.nap && { "id" => id, "n" => r.params["n"] } } ||
          r.post(String) { |id| [id] }
      end
    end.freeze.app
  end
  asks :post
end
