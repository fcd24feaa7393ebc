// The clients that take their responses slowest.

const CLIENT_CELLS = [["Client"], ["Protocol"], ["For", true], ["Taken", true], ["Left", true], ["Speed", true], ["Sent by"]];

const clientTexts = (client) => [
  client.port === undefined ? "a UNIX socket" : `${client.address.includes(":") ? `[${client.address}]` : client.address}:${client.port}`,
  client.protocol === "h2" ? "HTTP/2" : "HTTP/1.1", format.time(client.age_s), format.bytes(client.sent_bytes), format.bytes(client.left_bytes),
  `${format.bytes(client.bytes_per_second)}/s${client.limit_bytes_per_second ? `, ${format.bytes(client.limit_bytes_per_second)}/s allowed` : ""}`,
  client.algorithm || "the loop, from memory"];

class SlowClients {
  constructor() {
    const cells = plainRow(CLIENT_CELLS);
    this.rows = new Rows(byId("clients").tBodies[0], cells.make, (row, [, texts]) => cells.fill(row, texts));
  }

  show({ slow_clients: { count, complete, clients } }) {
    this.rows.show(clients.map((client, i) => [client.port === undefined ? `unix ${i}` : `${client.address} ${client.port}`, clientTexts(client)]), ([key]) => key);
    setHidden(byId("clients"), clients.length === 0);
    setText(byId("clients-count"), this.words(count, complete, clients.length));
  }

  words(count, complete, shown) {
    if (count === 0) return complete ? "No response has been leaving for a second or longer." : "";
    const which = shown < count ? `, the slowest ${shown} of them are here` : "";
    return `${complete ? "" : "At least "}${plural(count, "client takes", "clients take")} a second or longer for a response${which}.`;
  }
}
