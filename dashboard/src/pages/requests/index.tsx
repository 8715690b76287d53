import { place } from '../../data/place.ts'
import { RequestList } from './list.tsx'
import { OneRequest } from './one.tsx'

/** The calls of the account: as they come in, or one of them in full. */
export function Page() {
  const [, , id] = place.value.path.split('/')
  return id === undefined ? <RequestList /> : <OneRequest key={id} id={id} />
}
