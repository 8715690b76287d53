import { place } from '../../data/place.ts'
import { signedIn } from '../../data/session.ts'
import { Invitation } from './invitation.tsx'
import { NewPassword } from './new-password.tsx'
import { SetUp } from './set-up.tsx'
import { SignIn } from './sign-in.tsx'
import { SignUp } from './sign-up.tsx'

/** Where one-time links lead, also who is signed in. */
const doors: Readonly<Record<string, () => preact.JSX.Element>> = {
  '/setup': SetUp,
  '/invitations': Invitation,
  '/password': NewPassword,
}

/** Whether the address is that of a door, which is shown instead of a page. */
export const isAtDoor = (): boolean => place.value.path in doors

/** Where people come in: by a link, with a password, or for the first time. */
export function Entrance() {
  const { path } = place.value
  const Door = doors[path] ?? (path === '/sign-up' && !signedIn.value ? SignUp : SignIn)
  return <Door />
}
