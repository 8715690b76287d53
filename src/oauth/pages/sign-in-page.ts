import type { Answer } from '../../http/answer.ts'
import type { ClientText } from './client-text.ts'
import { signInPath } from '../metadata.ts'
import { alertOf, fieldOf, formOf, type FormBinding, type Problem } from './form.ts'
import { markup, type Html } from './html.ts'
import { pageAnswer } from './page.ts'

type Page = {
  client: ClientText
  binding: FormBinding
  /** Values from a form that was refused, without secrets. */
  values?: { email?: string | undefined; name?: string | undefined }
  problem?: Problem | undefined
  status?: number
}

type SignInPage = Page & {
  /** Whether anyone may create an account. */
  signUp: boolean
  passwordsAreOpen: boolean
  /** The label of sign-in with OpenID Connect; null without it. */
  oidcLabel: string | null
}

/** The query parameter that asks for the sign-up page. */
export const viewParameter = 'view'
export const signUpView = 'sign-up'

/** The page to sign in: with OpenID Connect, by e-mail and password, or with an API key. */
export function signInPage(page: SignInPage): Answer {
  const { client, binding, signUp, values, problem, status } = page
  const path = `${binding.path}?${viewParameter}=${signUpView}`
  const oidcPath = `${signInPath}?return_to=${encodeURIComponent(binding.path)}`
  const form = markup`${emailField(values, problem)}
${fieldOf({ name: 'password', label: 'Password', input: passwordInput, problem })}
<button name="action" value="sign_in">Sign in</button>`
  const content = markup`<p><strong><bdi>${client.name}</bdi></strong> asks to use models on your account.
Sign in to see what it may do, and to decide.</p>
${alertOf(problem, ['email', 'password', 'api_key'])}${
    page.oidcLabel === null
      ? undefined
      : markup`<p><a class="button" href="${oidcPath}">${page.oidcLabel}</a></p>\n`
  }${page.passwordsAreOpen ? formOf(binding, form) : undefined}
${keyForm(binding, problem)}
<div class="foot">
${signUp ? markup`<p>New here? <a href="${path}">Create an account</a></p>` : undefined}
${cancelForm(binding)}
</div>`
  return pageAnswer({ title: 'Sign in', content, ...(status && { status }) })
}

/** The page to create an account. */
export function signUpPage({ client, binding, values, problem, status }: Page): Answer {
  const hint = 'At least 8 characters. A sentence works well.'
  const form = markup`${emailField(values, problem)}
${fieldOf({ name: 'name', label: 'Name', input: nameInput, value: values?.name, problem })}
${fieldOf({ name: 'password', label: 'Password', input: newPasswordInput, hint, problem })}
<button name="action" value="sign_up">Create the account</button>`
  const content = markup`<p>Create an account first. Then decide whether
<strong><bdi>${client.name}</bdi></strong> may use it.</p>
${alertOf(problem, ['email', 'name', 'password'])}${formOf(binding, form)}
<div class="foot">
<p>Already have an account? <a href="${binding.path}">Sign in</a></p>
${cancelForm(binding)}
</div>`
  return pageAnswer({ title: 'Create an account', content, ...(status && { status }) })
}

const emailInput = markup`type="email" autocomplete="username" maxlength="254" required`
const nameInput = markup`autocomplete="name" maxlength="100" required`
const passwordInput = markup`type="password" autocomplete="current-password" maxlength="1024" required`
const newPasswordInput = markup`type="password" autocomplete="new-password" minlength="8"
maxlength="1024" required`
const keyInput = markup`type="password" autocomplete="off" spellcheck="false" maxlength="200" required`

function emailField(values: Page['values'], problem: Problem | undefined): Html {
  const value = values?.email
  return fieldOf({ name: 'email', label: 'E-mail', input: emailInput, value, problem })
}

function keyForm(binding: FormBinding, problem: Problem | undefined): Html {
  const isOpen = problem?.field === 'api_key'
  const hint = 'The connection uses the limits of this key, and ends when the key ends.'
  const form = markup`${fieldOf({
    name: 'api_key',
    label: 'API key',
    input: keyInput,
    hint,
    problem,
  })}
<button class="second" name="action" value="use_key">Continue with this key</button>`
  return markup`<details${isOpen ? markup` open` : undefined}>
<summary>Use an API key instead</summary>
${formOf(binding, form)}
</details>`
}

function cancelForm(binding: FormBinding): Html {
  const form = markup`<p>Did not start this?
<button class="plain" name="action" value="deny">Go back without connecting</button></p>`
  return formOf(binding, form)
}
