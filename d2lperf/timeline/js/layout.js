// Where each row stands: lanes below one another, lanes of a group together, folded ones thin.

const BAR = 22;
const NESTED = 18;
const GAP = 12;
const THIN = 8;
const HEAD = 22;
const LOWER = 4;
const STRIP = 56;

function grouped(lanes) {
  const groups = [];
  const byName = new Map();
  for (const lane of lanes) {
    let group = lane.group && byName.get(lane.group);
    if (!group) {
      group = { name: lane.group, lanes: [] };
      groups.push(group);
      if (lane.group) byName.set(lane.group, group);
    }
    group.lanes.push(lane);
  }
  return groups;
}

// Returns places of rows {y, h, outline}, bands of lanes and heads of groups {y, h, …}, strips, and the height.
// `folded` holds names of lanes, and of groups as "group:NAME".
export function arrange(rows, { folded, over = false }) {
  const placed = { rows: [], bands: [], heads: [], strips: [], height: 0 };
  const below = over ? new Map(rows.meta.overlay.map(([a, b]) => [b, a])) : new Map();
  const shown = rows.lanes.filter((lane) => !below.has(lane.number));
  let y = 4;
  for (const group of grouped(shown)) {
    const headed = group.lanes.length > 1;
    const shut = headed && folded.has(`group:${group.name}`);
    if (headed) {
      placed.heads.push({ ...group, y, h: HEAD, folded: shut });
      if (shut) {
        for (const lane of group.lanes) for (let r = lane.first; r < lane.last; r += 1) {
          placed.rows[r] = { y: y + (HEAD - 2 * THIN) / 2, h: 2 * THIN, lane, thin: true };
        }
        y += HEAD + GAP;
        continue;
      }
      y += HEAD;
    }
    for (const lane of group.lanes) y = placeLane(rows, placed, lane, y, folded, headed);
  }
  for (const [b, a] of below) putOver(rows, placed, rows.lanes[a], rows.lanes[b]);
  y += 2;
  for (const strip of rows.strips) {
    placed.strips.push({ strip, y, h: STRIP });
    y += STRIP + GAP;
  }
  placed.height = y;
  return placed;
}

function placeLane(rows, placed, lane, y, folded, headed) {
  const thin = folded.has(lane.name);
  const depth = Math.max(lane.depth, 1);
  const bar = thin ? THIN : depth > 1 ? NESTED : BAR;
  for (let r = lane.first; r < lane.last; r += 1) {
    const level = thin ? 0 : rows.meta.rows[r][1];
    placed.rows[r] = { y: y + GAP / 2 + level * bar, h: thin ? THIN : bar - 1, lane, thin };
  }
  // A folded lane stays high enough for its name.
  const h = Math.max(thin ? THIN : depth * bar, 14) + GAP;
  if (thin) for (let r = lane.first; r < lane.last; r += 1) placed.rows[r].y = y + (h - THIN) / 2;
  placed.bands.push({ lane, y, h, folded: thin, indent: headed });
  return y + h;
}

// "Over": the second of two lanes as outlines on the first, a little lower, so that edges at one moment are both seen.
function putOver(rows, placed, under, over) {
  const band = placed.bands.find((one) => one.lane === under);
  if (band) band.over = over;
  const base = placed.rows[under.first] ?? band;
  for (let r = over.first; base && r < over.last; r += 1) {
    const same = placed.rows[under.first + rows.meta.rows[r][1]] ?? base;
    placed.rows[r] = { y: same.y + LOWER, h: same.h, lane: over, thin: same.thin, outline: true };
  }
}

// The rows at a height, the one in front first.
export function rowsAt(placed, y) {
  const found = [];
  placed.rows.forEach((place, row) => {
    if (place && y >= place.y - 1 && y <= place.y + place.h + 1) found.push(row);
  });
  return found.reverse();
}

export function bandAt(placed, y) {
  return placed.bands.find((band) => y >= band.y && y < band.y + band.h) ?? null;
}
