import { nameInPlace } from '../../data/place.ts'
import { AccountList } from './list.tsx'
import { NewAccount } from './new.tsx'
import { OneAccount } from './one.tsx'
import './accounts.css'

/** The operators' page for all accounts, one account, or a new one. */
export function Page() {
  const name = nameInPlace()
  if (name === 'new') return <NewAccount />
  return name === undefined ? <AccountList /> : <OneAccount key={name} id={name} />
}
