# frozen_string_literal: true

Gems.use "rqrcode" do
  requires "rqrcode"
  answer { |id| RQRCode::QRCode.new("http://example.org/#{id}").as_svg.sum }
end
