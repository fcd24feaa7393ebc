# frozen_string_literal: true

module UnchangedHunt
  GUIDE = "docs/guides/unchanged.md"
  # What fibers change and the guide says so: the habits that show it together, and where it stands. Programs that have them all are left out.
  KNOWN = {
    %i[woken_thread] => "#{GUIDE}#thread-raise",
    %i[raised_in_thread] => "#{GUIDE}#thread-raise",
    %i[object_by_thread] => "#{GUIDE}#thread-objects",
    %i[object_by_thread_id] => "#{GUIDE}#thread-objects",
    %i[thread_variable] => "#{GUIDE}#thread-variables",
    %i[thread_variable_around] => "#{GUIDE}#thread-variables",
    %i[thread_variable_in_fiber] => "#{GUIDE}#thread-variables",
    %i[thread_attribute] => "#{GUIDE}#thread-variables",
    %i[thread_instance_variable] => "#{GUIDE}#thread-variables",
    %i[thread_name] => "#{GUIDE}#thread-name",
    %i[thread_report] => "#{GUIDE}#thread-name",
    %i[keys] => "#{GUIDE}#multithread"
  }.freeze
end
