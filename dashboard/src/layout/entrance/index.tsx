import { place } from '../../data/place.ts'
import { signedIn } from '../../data/session.ts'
import { Invitation } from './invitation.tsx'
import { NewPassword } from './new-password.tsx'
import { SetUp } from './set-up.tsx'
import { SignIn } from './sign-in.tsx'
import { SignUp } from './sign-up.tsx'

/** Pages of one-time links by path; the pages open also while a person is signed in. */
const doors: Readonly<Record<string, () => preact.JSX.Element>> = {
  '/setup': SetUp,
  '/invitations': Invitation,
  '/password': NewPassword,
}

/** Whether the current address is a one-time link. */
export const isAtDoor = (): boolean => place.value.path in doors

/** The sign-in pages: one-time links, sign-in and sign-up. */
export function Entrance() {
  const { path } = place.value
  const Door = doors[path] ?? (path === '/sign-up' && !signedIn.value ? SignUp : SignIn)
  return <Door />
}
