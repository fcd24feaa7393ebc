# frozen_string_literal: true

Gems.use "mail" do
  requires "mail"
  setup { Mail.defaults { delivery_method :test } }
  answer do |id|
    mail = Mail.new do
      to("#{id}@example.org") && from("a@example.org") && subject("ü #{id}") && body("text #{id}")
    end
    Mail.new(mail.to_s.gsub(/^(Date|Message-ID):.*\r\n/, "")).then do |read|
      [read.to, read.subject, read.body.decoded]
    end
  end
end
