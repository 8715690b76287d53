import { nameInPlace } from '../../data/place.ts'
import { AccountList } from './list.tsx'
import { NewAccount } from './new.tsx'
import { OneAccount } from './one.tsx'
import './accounts.css'

/** For those who run the gateway: all accounts, one of them, or a new one. */
export function Page() {
  const name = nameInPlace()
  if (name === 'new') return <NewAccount />
  return name === undefined ? <AccountList /> : <OneAccount key={name} id={name} />
}
