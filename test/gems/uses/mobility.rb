# frozen_string_literal: true

Gems.use "mobility" do
  requires "i18n", "mobility"
  setup do
    I18n.available_locales = %i[en de]
    begin
      Mobility.configure { |config| config.plugins { locale_accessors && fallbacks } }
    rescue
      nil
    end
  end
  answer do |id|
    Mobility.with_locale(%i[en de][id.sum % 2]) do
      Hunt.nap
      [Mobility.locale, I18n.locale]
    end
  end
end
