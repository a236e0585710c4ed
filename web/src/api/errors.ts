// Errors from the server.

/** An error response: what happened, and what the user can do about it. Status 0 means no response at all. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly advice: string,
  ) {
    super(message);
  }

  get isUnreachable(): boolean {
    return this.status === 0;
  }
}
