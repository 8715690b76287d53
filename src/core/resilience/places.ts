/**
 * A list of running work, unordered. A Set would retain removed entries until a full garbage collection:
 * each outgrown table of a Set references the next, so that an old table keeps all later ones alive
 * (docs/performance.md#event-streams).
 */
export function createPlaces<Work>() {
  const places: { work: Work; index: number }[] = []
  return {
    all: (): Work[] => places.map(({ work }) => work),
    isEmpty: () => places.length === 0,
    /** Returns a function that removes the work; call it once. */
    add: (work: Work): (() => void) => {
      const place = { work, index: places.length }
      places.push(place)
      return () => {
        const last = places.pop()!
        if (last === place) return
        last.index = place.index
        places[place.index] = last
      }
    },
  }
}
