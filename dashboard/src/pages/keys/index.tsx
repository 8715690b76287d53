import { nameInPlace } from '../../data/place.ts'
import { KeyList } from './list.tsx'
import { NewKey } from './new.tsx'
import { OneKey } from './one.tsx'

/** API keys of the account: the list, one key, or a new one. */
export function Page() {
  const name = nameInPlace()
  if (name === 'new') return <NewKey />
  return name === undefined ? <KeyList /> : <OneKey key={name} id={name} />
}
