// The pools that requests wait at, those with the longest waits of the last minute first.

const POOL_CELLS = [["Pool"], ["Kind"], ["Worker"], ["In use", true], ["Waiting", true], ["Most wanted", true], ["Had to wait", true], ["Each", true], ["Would do", true]];
const POOL_KINDS = { active_record: "ActiveRecord", sequel: "Sequel", connection_pool: "connection_pool", neverblock: "NB::Pool", fibers: "NB::FiberPool", bulkhead: "NB::Bulkhead" };

const poolTexts = (pool) => {
  const minute = pool.last_minute, waits = Math.max(minute.waited, pool.waiting), wanted = Math.max(minute.acquired, waits);
  return [pool.name, POOL_KINDS[pool.kind] || pool.kind, `${pool.worker}`,
    pool.size ? `${format.count(pool.in_use)} of ${format.count(pool.size)}` : format.count(pool.in_use), format.count(pool.waiting),
    `${format.count(minute.demand_max)}${minute.held_back ? " or more" : ""}`,
    wanted ? `${Math.round(100 * waits / wanted)} %` : "–", waits ? format.time(minute.waited_s / waits) : "–",
    pool.would_do ? format.count(pool.would_do) : "–"];
};

class Pools {
  constructor() {
    const cells = plainRow(POOL_CELLS);
    this.rows = new Rows(byId("pools").tBodies[0], cells.make, (row, pool) => {
      cells.fill(row, poolTexts(pool));
      row.cells[4].classList.toggle("warned", pool.waiting > 0);
      row.cells[8].classList.toggle("warned", Boolean(pool.would_do));
    });
  }

  show({ pools = [] }) {
    const sorted = [...pools].sort((a, b) => b.last_minute.waited_s - a.last_minute.waited_s || b.last_minute.demand_max - a.last_minute.demand_max);
    this.rows.show(sorted, (pool) => [pool.worker, pool.kind, pool.name].join("|"));
    const waiting = pools.reduce((sum, pool) => sum + pool.waiting, 0);
    setText(byId("pools-count"), pools.length ? `${waiting ? `${plural(waiting, "waits", "wait")} for a place; ` : ""}shares and waits of the last minute` : "");
    setHidden(byId("pools"), pools.length === 0);
    setHidden(byId("pools-empty"), pools.length > 0);
  }
}
