# frozen_string_literal: true

Gems.use "grape" do
  requires "grape"
  app do
    Class.new(Grape::API) do
      format :json
      helpers { define_method(:nap) { Hunt.nap } }
      params { requires(:n, type: Integer) }
      get(":id") { nap && { id: params[:id], n: params[:n] } }
    end
  end
end
