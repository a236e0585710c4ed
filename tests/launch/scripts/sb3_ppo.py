"""PPO on CartPole, as on the first page of the documentation of Stable-Baselines3."""

from stable_baselines3 import PPO

PPO("MlpPolicy", "CartPole-v1", verbose=1, n_steps=256, batch_size=64, n_epochs=4, seed=0, device="cpu").learn(
    total_timesteps=25_000
)
