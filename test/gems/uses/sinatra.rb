# frozen_string_literal: true

Gems.use "sinatra" do
  requires "sinatra/base"
  app do
    Class.new(Sinatra::Base) do
      set :environment, :production
      set :host_authorization, {}
      before { @id = params["id"] }
      get("/:id") { Hunt.nap && "#{@id} #{params[:n]} #{request.path_info}" }
      post("/:id") { redirect("/#{params[:id]}") }
    end.new
  end
  asks :post
end
