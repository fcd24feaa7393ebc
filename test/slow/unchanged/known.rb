# frozen_string_literal: true

module UnchangedHunt
  GUIDE = "docs/guides/unchanged.md"
  # What fibers change, where the guide says so: the habits that show it together, and its place in
  # the guide. Programs that have all of them are left out.
  KNOWN = {
    %i[object_by_thread] => "#{GUIDE}#thread-objects",
    %i[object_by_thread_id] => "#{GUIDE}#thread-objects",
    %i[thread_attribute] => "#{GUIDE}#thread-attributes",
    %i[thread_instance_variable] => "#{GUIDE}#thread-attributes",
    %i[thread_name] => "#{GUIDE}#thread-attributes",
    %i[thread_report] => "#{GUIDE}#thread-attributes",
    %i[thread_local_from_outside] => "#{GUIDE}#from-outside",
    %i[thread_variable_from_outside] => "#{GUIDE}#from-outside",
    %i[thread_backtrace] => "#{GUIDE}#from-outside",
    %i[woken_thread] => "#{GUIDE}#thread-raise",
    %i[raised_in_thread] => "#{GUIDE}#thread-raise",
    %i[keys] => "#{GUIDE}#multithread",
    **%i[next fiber blocking_fiber middleware_in_a_fiber].product(
      %i[recursion_2000 recursion_6000 recursion_blocks inspect_deep]
    ).to_h { |habits| [habits, "#{GUIDE}#depth"] }
  }.freeze
end
