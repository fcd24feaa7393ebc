# frozen_string_literal: true

Gems.use "rotp" do
  requires "rotp"
  answer do |id|
    ROTP::TOTP.new("base32secret3232").then do |totp|
      [totp.at(id.sum * 30), totp.verify(totp.at(900), at: 900)]
    end
  end
end
