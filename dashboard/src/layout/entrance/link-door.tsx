import type { ComponentChildren } from 'preact'
import { oneTimeToken } from '../../data/one-time-token.ts'
import { addressOf } from '../../data/place.ts'
import { Door } from './frame.tsx'

type Props = { title: string; children: (token: string) => ComponentChildren }

/** The card that a one-time link opens. */
export function LinkDoor({ title, children }: Props) {
  const token = oneTimeToken()
  return <Door title={title}>{token === undefined ? <NoToken /> : children(token)}</Door>
}

/** For an address that lost its token on the way. */
function NoToken() {
  return (
    <>
      <p class="failure" role="alert">
        This address has no token. Open the whole link, as it was given to you.
      </p>
      <p>
        A link works once. If you have used yours, <a href={addressOf('/')}>sign in</a>.
      </p>
    </>
  )
}
