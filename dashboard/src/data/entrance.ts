import { bodyOf, GET } from './api.ts'
import { useLoad } from './load.ts'

/** How people can enter the dashboard. */
export const useEntrance = () =>
  useLoad('entrance', (signal) => bodyOf(GET('/api/entrance', { signal })))
