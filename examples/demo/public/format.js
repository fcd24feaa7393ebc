// Numbers as people read them.
const whole = new Intl.NumberFormat("en");

export const count = (number) => (number == null ? "–" : whole.format(number));
export const seconds = (value, digits = 2) => `${value.toFixed(digits)} s`;
export const euros = (cents) => `€${whole.format(Math.round(cents / 100))}`;
export const euros2 = (cents) => `€${(cents / 100).toFixed(2)}`;
export const bytes = (value) => (value == null ? "unknown" : `${(value / 1048576).toFixed(value < 104857600 ? 1 : 0)} MB`);

// Three digits of a time: 34 µs, 1.24 ms, 1.2 s
export function short(value) {
  if (value == null) return "–";
  const [factor, unit] = value < 0.001 ? [1e6, "µs"] : value < 1 ? [1e3, "ms"] : [1, "s"];
  const number = value * factor;
  return `${number.toFixed(number >= 99.95 || number === 0 ? 0 : number >= 9.995 ? 1 : 2)}\u00a0${unit}`;
}

// 242 -> "4 min 2 s"
export function minutes(value) {
  if (value < 60) return seconds(value, 1);
  const rounded = Math.round(value);
  return `${Math.floor(rounded / 60)} min ${rounded % 60} s`;
}
