// Numbers as people read them.
const whole = new Intl.NumberFormat("en");

export const count = (number) => whole.format(number);
export const seconds = (value, digits = 2) => `${value.toFixed(digits)} s`;
export const euros = (cents) => `€${whole.format(Math.round(cents / 100))}`;
export const euros2 = (cents) => `€${(cents / 100).toFixed(2)}`;
export const bytes = (value) => (value == null ? "unknown" : `${(value / 1048576).toFixed(value < 104857600 ? 1 : 0)} MB`);

// 242 -> "4 min 2 s"
export function minutes(value) {
  if (value < 60) return seconds(value, 1);
  const rounded = Math.round(value);
  return `${Math.floor(rounded / 60)} min ${rounded % 60} s`;
}
