// One way to ask the server: a time limit, and errors that say what to do.
const LIMIT_MS = 8000;

export class Unreachable extends Error {}

export async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(LIMIT_MS), ...options });
  } catch {
    throw new Unreachable("The server does not answer.");
  }
  const text = await response.text().catch(() => { throw new Unreachable("The server stopped in the middle of its answer."); });
  let value = null;
  try { value = JSON.parse(text); } catch { /* not JSON: an error page */ }
  if (!response.ok || value === null) throw new Error(value?.error || `The server answered ${response.status} to ${path}.`);
  return value;
}
