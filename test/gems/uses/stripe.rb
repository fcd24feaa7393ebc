# frozen_string_literal: true

Gems.use "stripe" do
  requires "stripe"
  setup do
    Stripe.api_key = "sk_test_x"
    Stripe.api_base = Gems::URL
    Stripe.max_network_retries = 0
  end
  answer { |id| Stripe::Customer.retrieve(id).then { |customer| [customer.id, customer.object] } }
end
